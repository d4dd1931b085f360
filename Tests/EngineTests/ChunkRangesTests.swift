import FerryEngine
import FerryModel
import FerrySQLite
import TestSupport
import Testing

/// A chunk has exactly the requested number of rows for any distribution of keys, with and without known row counts.
@Suite("Ranges of keys")
struct ChunkRangesTests {
    private static let source = ManagedObjectModel(
        .made("Book", [.text("title")]), .made("Novel", parent: "Book", [.text("plot")]))
    private static let destination = ManagedObjectModel(
        .made("Book", [.text("heading")]), .made("Novel", parent: "Book", [.text("plot")]))

    private static let mapping = """
        { "source": "Model", "destination": "Model 2", "entityMappings": [
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "attributes": { "heading": "$source.title" } },
            { "name": "NovelToNovel", "source": "Novel", "destination": "Novel",
              "attributes": { "heading": "$source.title" } } ] }
        """

    /// The outcome of a run: rows done after each chunk, statements, and the new store's keys.
    private struct Outcome {
        var done: [Int64]
        var statements: [String]
        var keys: [Int64]
    }

    private func run(_ keys: [Int64], novels: Set<Int64> = [], chunk: Int) throws -> Outcome {
        let store = try StoreBuilder(Self.source, maximumKeys: ["Book": keys.max() ?? 0])
        for key in keys {
            try store.connection.run(
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (?, ?, 1, 'A title')",
                [.integer(key), .integer(novels.contains(key) ? 2 : 1)])
        }
        let step = try TracedStep(store, Self.mapping, from: Self.source, to: Self.destination, chunk: chunk)
        let connection = try Connection(path: step.run.destinationPath, mode: .readOnly)
        return Outcome(
            done: step.done, statements: step.statements,
            keys: try connection.rows("SELECT Z_PK FROM ZBOOK ORDER BY Z_PK").compactMap { $0[0].integer })
    }

    static let keys: [(String, [Int64])] = [
        ("without a gap", Array(1...40)),
        ("from a late one on", Array(1_001...1_040)),
        ("with one missing here and there", Array(1...45).filter { ![3, 4, 11, 30, 44].contains($0) }),
        ("with a hole", Array(1...20) + Array(5_001...5_020)),
        ("far apart", (1...40).map { $0 * 1_000 }),
        ("up to the highest there is", Array(1...39) + [.max]),
        ("below the first of Core Data's", Array(-3...36)),
    ]

    @Test("Every chunk but the last has the requested number of rows", arguments: keys, [1, 7, 40, 1_000])
    func exact(keys: (String, [Int64]), chunk: Int) throws {
        let outcome = try run(keys.1, chunk: chunk)
        let expected = stride(from: chunk, to: 40, by: chunk).map(Int64.init) + [40]
        #expect(outcome.done == expected)
        #expect(outcome.keys == keys.1)
    }

    @Test("The rows of two entities in one table share the chunks", arguments: keys)
    func shared(keys: (String, [Int64])) throws {
        let novels = Set(keys.1.enumerated().filter { $0.offset % 3 == 1 || $0.offset > 30 }.map(\.element))
        let outcome = try run(keys.1, novels: novels, chunk: 7)
        #expect(outcome.done == [7, 14, 21, 28, 35, 40])
        #expect(outcome.keys == keys.1)
    }
}
