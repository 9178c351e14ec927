// SPDX-License-Identifier: Apache-2.0
// Reads the profiles that standard input asks for, as JSON, and answers with one line of JSON each:
//
//	{"pprof": PATH}	a profile for pprof, with pprof-format
//	{"otlp": PATH}	an ExportProfilesServiceRequest, with protobufjs; its fields are those of this schema
//
// Whole numbers of 64 bits are texts, and bytes are hexadecimal.
import { Profile } from 'pprof-format';
import protobuf from 'protobufjs';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

// version 1.11.0 of OpenTelemetry's protocol: names that stand for texts are numbers of string_table.
const SCHEMA = `
syntax = "proto3";
message Request { repeated Resources resource_profiles = 1; Dictionary dictionary = 2; }
message Resources { Resource resource = 1; repeated Scopes scope_profiles = 2; string schema_url = 3; }
message Resource { repeated Pair attributes = 1; uint32 dropped_attributes_count = 2; }
message Pair { string key = 1; Any value = 2; int32 key_strindex = 3; }
message Any { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
	bytes bytes_value = 7; int32 string_value_strindex = 8; } }
message Scopes { Scope scope = 1; repeated OneProfile profiles = 2; string schema_url = 3; }
message Scope { string name = 1; string version = 2; }
message OneProfile { Type sample_type = 1; repeated Sample samples = 2; fixed64 time_unix_nano = 3;
	uint64 duration_nano = 4;
	Type period_type = 5; int64 period = 6; bytes profile_id = 7; uint32 dropped_attributes_count = 8;
	string original_payload_format = 9; bytes original_payload = 10; repeated int32 attribute_indices = 11; }
message Type { int32 type_strindex = 1; int32 unit_strindex = 2; }
message Sample { int32 stack_index = 1; repeated int32 attribute_indices = 2; int32 link_index = 3;
	repeated int64 values = 4;
	repeated fixed64 timestamps_unix_nano = 5; }
message Dictionary { repeated Mapping mapping_table = 1; repeated Location location_table = 2;
	repeated Function function_table = 3;
	repeated Link link_table = 4; repeated string string_table = 5; repeated Attribute attribute_table = 6;
	repeated Stack stack_table = 7; }
message Mapping { uint64 memory_start = 1; uint64 memory_limit = 2; uint64 file_offset = 3;
	int32 filename_strindex = 4;
	repeated int32 attribute_indices = 5; }
message Location { int32 mapping_index = 1; uint64 address = 2; repeated Line lines = 3;
	repeated int32 attribute_indices = 4; }
message Line { int32 function_index = 1; int64 line = 2; int64 column = 3; }
message Function { int32 name_strindex = 1; int32 system_name_strindex = 2; int32 filename_strindex = 3;
	int64 start_line = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Attribute { int32 key_strindex = 1; Any value = 2; int32 unit_strindex = 3; }
message Stack { repeated int32 location_indices = 1; }
`;
const Request = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType('Request');

function plain(key, value) {
	if (typeof value === 'bigint') return String(value);
	if (value && value.type === 'Buffer') return Buffer.from(value.data).toString('hex');
	return value;
}

for (const asked of JSON.parse(readFileSync(0, 'utf8'))) {
	let answer;
	if (asked.pprof) {
		answer = Profile.decode(gunzipSync(readFileSync(asked.pprof)));
	} else {
		const message = Request.decode(readFileSync(asked.otlp));
		answer = Request.toObject(message, { longs: String, defaults: true, oneofs: true });
	}
	process.stdout.write(JSON.stringify(answer, plain) + '\n');
}
