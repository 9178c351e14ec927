/* SPDX-License-Identifier: Apache-2.0 */
/* What doc/faster-programs.md makes faster: sqlite in memory, with as many rows as the argument says. */
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>
static void run(sqlite3 *db, const char *sql)
{
	char *why = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &why)) {
		fprintf(stderr, "%s: %s\n", sql, why);
		exit(1);
	}
}
int main(int argc, char **argv)
{
	char sql[200];
	int rows = argc > 1 ? atoi(argv[1]) : 10000;
	sqlite3 *db;
	sqlite3_open(":memory:", &db);
	run(db, "create table t(id integer primary key, name text, n int, x real); create index tn on t(n)");
	run(db, "begin");
	for (int i = 0; i < rows; i++) {
		snprintf(sql, sizeof(sql), "insert into t values(%d,'name%d',%d,%d.5)", i, i * 7919 % rows,
			 i * 31 % 1000, i % 97);
		run(db, sql);
	}
	run(db, "commit");
	for (int i = 0; i < 20; i++) {
		snprintf(sql, sizeof(sql),
			 "select count(*), sum(x), max(name) from t where n between %d and %d group by n %% 10 order "
			 "by 2",
			 i * 40, i * 40 + 300);
		run(db, sql);
		run(db, "select a.id, b.name from t a join t b on a.n = b.id where a.name like '%99%' order by b.name "
			"limit 50");
		snprintf(sql, sizeof(sql),
			 "update t set x = x + 1, name = upper(substr(name, 1, 6)) || id where id %% 37 = %d", i);
		run(db, sql);
	}
	sqlite3_close(db);
	return 0;
}
