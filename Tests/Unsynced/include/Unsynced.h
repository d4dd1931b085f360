// Linking the target leaves out the syncs, and keeps freed memory.

/// Gives this thread, and the threads that it starts, a working folder of their own; -1 where a thread has none.
int ferry_enter_folder(const char *path);
