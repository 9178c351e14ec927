/* SPDX-License-Identifier: Apache-2.0 */
/* Where execvp would find a command. */
#ifndef SYS_SEARCH_PATH_H
#define SYS_SEARCH_PATH_H

/* 0 and the path (caller frees), or the errno that execvp would give: ENOENT, EACCES. */
int search_path(const char *command, char **out);

#endif
