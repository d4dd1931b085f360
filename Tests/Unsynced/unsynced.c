// Leaves out the syncs of the process that links this file: only a power cut would need them.
//
// The tests that fail, cut or count syncs do so above this layer, in FileLayer.swift and VFS.swift, and lose nothing by it.
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "CSystem.h"
#include "Unsynced.h"

static sqlite3_vfs *base;

static int without_sync(sqlite3_file *file, int flags) {
    (void)file, (void)flags;
    return SQLITE_OK;
}

// SQLite has a table of methods for each way of locking.
enum { most_tables = 16 };
static struct {
    const sqlite3_io_methods *original;
    sqlite3_io_methods unsynced;
} tables[most_tables];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const sqlite3_io_methods *unsynced(const sqlite3_io_methods *original) {
    const sqlite3_io_methods *found = original;
    pthread_mutex_lock(&lock);
    for (int place = 0; place < most_tables; place++) {
        if (!tables[place].original) {
            tables[place].original = original;
            tables[place].unsynced = *original;
            tables[place].unsynced.xSync = without_sync;
        }
        if (tables[place].original == original) {
            found = &tables[place].unsynced;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int open_unsynced(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *outFlags) {
    (void)vfs;
    int code = base->xOpen(base, name, file, flags, outFlags);
    if (file->pMethods) file->pMethods = unsynced(file->pMethods);
    return code;
}

static int delete_unsynced(sqlite3_vfs *vfs, const char *name, int syncFolder) {
    (void)vfs, (void)syncFolder;
    return base->xDelete(base, name, 0);
}

__attribute__((constructor)) static void leave_out_syncs(void) {
    static sqlite3_vfs vfs;
    base = sqlite3_vfs_find(NULL);
    if (!base) return;
    vfs = *base;
    vfs.pNext = NULL;
    vfs.zName = "unsynced";
    vfs.xOpen = open_unsynced;
    vfs.xDelete = delete_unsynced;
    // All VFSs of Ferry's are in front of the default one.
    sqlite3_vfs_register(&vfs, 1);
    ferry_leave_out_syncs();
}
