internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Gives new keys one after another to the source objects that a statement meets in the order of their keys.
///
/// A function of SQL, which a statement calls with the key of a source object. It takes a fraction of what a window
/// function takes, which keeps each row in a table of its own before it gives it back.
final class KeyCounter {
    private let state = State()

    private final class State {
        /// The key that was given out last.
        @exclusivity(unchecked) var last: Int64 = 0
        @exclusivity(unchecked) var source = ChunkRanges.beginning
    }

    /// SQL of the next key for an object that a mapping makes.
    ///
    /// - Parameters:
    ///   - made: The mapping.
    ///   - reader: The mapping whose rows have the key: the same one, or one that relates its objects to it.
    ///   - object: The source object.
    /// - Returns: A call, which is made only for source objects that the mapping carries.
    static func call(
        _ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping, at object: SourceScope.Object
    ) -> String { "\(name(made, by: reader))(\(object.alias).Z_PK)" }

    private static func name(_ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping) -> String {
        "ferry_key_\(made.position)_\(reader.position)"
    }

    init(
        _ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping, on connection: Connection
    ) throws(DatabaseError) {
        try connection.register(Self.name(made, by: reader), arguments: 1, deterministic: false) {
            [state] arguments, result in
            let source = arguments.integer(0)
            // Asked twice for an object, it says the same.
            if source != state.source {
                guard source > state.source else {
                    throw FerryError(.internalError, "The rows of a mapping do not come in the order of their keys.")
                }
                state.source = source
                state.last += 1
            }
            result.set(state.last)
        }
    }

    /// Begins a statement.
    ///
    /// - Parameter last: The key before the next one.
    func begin(after last: Int64) { (state.last, state.source) = (last, ChunkRanges.beginning) }

    /// The key that was given out last.
    var last: Int64 { state.last }
}
