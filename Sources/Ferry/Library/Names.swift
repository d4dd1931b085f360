public import FerryBase

// What a caller of the library meets by name, so that `import Ferry` is enough.
public typealias FerryError = FerryBase.FerryError
public typealias Phase = FerryBase.Phase
public typealias ProgressUpdate = FerryBase.ProgressUpdate
public typealias StopRequest = FerryBase.StopRequest
public typealias TraceEvent = FerryBase.TraceEvent
public typealias TraceHook = FerryBase.TraceHook
