// The target has no interface: linking it is enough.
