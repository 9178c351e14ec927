// SPDX-License-Identifier: Apache-2.0
// Reads what standard input asks for, as JSON, and answers with as many lists of JSON, a line each:
//
//	{"file": PATH}	all rows of a Parquet file, with hyparquet
//	{"sql": TEXT}	the rows of a query, with DuckDB; all queries are asked of one database
//
// A row is a list; whole numbers are texts, as JSON has none of 64 bits.
import { DuckDBInstance } from '@duckdb/node-api';
import { decompress } from 'fzstd';
import { readFileSync } from 'node:fs';
import { parquetReadObjects, parquetMetadata } from 'hyparquet';

function plain(value) {
	if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
	return value === undefined ? null : value;
}

async function readFile(path) {
	const bytes = readFileSync(path);
	const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	const names = parquetMetadata(file).schema.slice(1).map((column) => column.name);
	const compressors = { ZSTD: (input, size) => decompress(input, new Uint8Array(size)) };
	const rows = await parquetReadObjects({ file, compressors, utf8: false });
	return rows.map((row) => names.map((name) => plain(row[name])));
}

const connection = await (await DuckDBInstance.create()).connect();
for (const asked of JSON.parse(readFileSync(0, 'utf8'))) {
	let rows;
	if (asked.file) {
		rows = await readFile(asked.file);
	} else {
		const reader = await connection.runAndReadAll(asked.sql);
		rows = reader.getRows().map((row) => row.map(plain));
	}
	process.stdout.write(JSON.stringify(rows) + '\n');
}
