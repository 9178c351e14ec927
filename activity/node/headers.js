// SPDX-License-Identifier: Apache-2.0
// Prints the folder of the headers that belong to this node; exits with 1 if it has none.
'use strict';
const fs = require('fs');
const path = require('path');

const folder = path.resolve(process.execPath, '../../include/node');
console.log(folder);
process.exitCode = fs.existsSync(path.join(folder, 'node_api.h')) ? 0 : 1;
