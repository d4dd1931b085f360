// SQLite's declarations, from the header of module CSQLite: with `sqlite3.h` they would be declared in two modules.
#ifndef FERRY_SQLITE_H
#define FERRY_SQLITE_H

#include "../../CSQLite/shim.h"

#endif
