internal import FerryEngine
internal import FerrySQLite
internal import Testing

@Suite("Elements of a JSON array in SQL")
struct JSONElementsTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try FunctionRegistry.register(on: connection)
    }

    private static let document = """
        {"list": [0], "l\\u0069st": [
            {"name": "first", "at": {"x": 1, "y": [1, 2.5]}, "no": null, "name": "last \\"one\\" 中"},
            {"n\\u0061me": "a rather long text, longer than a word of eight bytes", "at": 7, "big": 9223372036854775808},
            "scalar", 12, null, []
        ]}
        """

    @Test("SQL reads the same values at paths as the function does from the element's text")
    func members() throws {
        let paths = [["name"], ["at", "x"], ["at", "y"], ["no"], ["big"], [], ["missing"], ["na"]]
        let columns = paths.indices.map { "member\($0)" }
        let calls = paths.map { path in "ferry_json_get(json\(path.map { ", '\($0)'" }.joined()))" }
        let select = { (values: [String]) in
            try connection.rows(
                "SELECT ordinal, \(values.joined(separator: ", ")) FROM ferry_json_each(?1, 'list', 0, ?2, NULL, NULL, NULL)",
                [.text(Self.document), .blob(Self.encode(paths))])
        }
        let members = try select(columns)
        #expect(members == (try select(calls)))
        #expect(members.count == 6)
        #expect(members[0][1] == .text("last \"one\" 中") && members[0][2] == .integer(1))
        #expect(members[1][1] == .text("a rather long text, longer than a word of eight bytes"))
        #expect(members[2][6] == .text("scalar") && members[3][6] == .integer(12) && members[4][6] == .null)
    }

    @Test("Paths may differ between calls, and columns without a path are nil")
    func paths() throws {
        let rows = try connection.rows(
            """
            SELECT e.member0, e.member1 FROM (SELECT ?1 AS p UNION ALL SELECT ?2) AS given
            CROSS JOIN ferry_json_each('[{"a": 1, "b": 2}]', '', 0, given.p, NULL, NULL, NULL) AS e
            """, [.blob(Self.encode([["a"]])), .blob(Self.encode([["b"], ["a"]]))])
        #expect(rows == [[.integer(1), .null], [.integer(2), .integer(1)]])
    }

    @Test("A text is checked as a whole before its first element, wherever its error is")
    func faults() throws {
        let valid = Array(#"{"a": [{"name": "some text of length"}, 1], "b": "and é some 😀 more"}"#.utf8)
        for place in valid.indices {
            for byte in [0x00, 0x22, 0x5C, 0x80] as [UInt8] {
                var bytes = valid
                bytes[place] = byte
                let text = bytes
                // The parser must read nothing beyond the text, so both outcomes are equal.
                let outcomes = (0..<2).map { _ in
                    try? connection.rows(
                        "SELECT member0 FROM ferry_json_each(CAST(?1 AS TEXT), 'a', 0, ?2, NULL, NULL, NULL)",
                        [.blob(text), .blob(Self.encode([["name"]]))])
                }
                #expect(outcomes[0] == outcomes[1])
            }
        }
        #expect(throws: DatabaseError.self) {
            _ = try connection.rows(
                "SELECT 1 FROM ferry_json_each('{\"a\": [1], \"b\": }', 'a', 0, ?1, NULL, NULL, NULL)",
                [.blob(Self.encode([]))])
        }
    }

    /// Elements that together are far longer than a piece of a stored text, and one that is.
    private static let longList: String = {
        let long = String(repeating: "é中 \\u00e9", count: 20_000)
        let elements = (0..<9_000).map { #"{"name": "n\#($0)", "at": [\#($0), {"deep": [null, true]}]}"# }
        return elements.joined(separator: ",")
            + #", {"name": "\#(long)"}, "last""#
    }()

    @Test(
        "A stored text gives the same elements as the same text passed, also if it is read in pieces",
        arguments: [
            "[\(longList)]", "{\"list\": [\(longList)]}",
            "{\"list\": [1], \"other\": [\(longList)], \"list\": [2, [3]]}",
            "{\"other\": \"\(longList.filter { $0 != "\"" && $0 != "\\" })\", \"list\": [7]}", "  \n ", "null", "[]",
            "7",
            "{\"list\": [\(longList)]} x", "{\"list\": [\(longList),]}", "{\"list\": [\(longList)", "",
            "{\"list\": {\"a\": [\(longList)]}}", String(repeating: " ", count: 200_000) + "[1, 2]",
            String(repeating: "[", count: 100_000) + "1",
        ])
    func stored(text: String) throws {
        try connection.execute("ATTACH ':memory:' AS source; CREATE TABLE source.t (k INTEGER PRIMARY KEY, v)")
        try connection.run(
            "INSERT INTO source.t VALUES (1, NULL), (2, ?1), (3, 5), (4, CAST(?1 AS BLOB))", [.text(text)])
        let paths = Value.blob(Self.encode([["name"], ["at"]]))
        for (key, skips) in [("list", 0), ("list", 1), ("", 0), ("", 1)] {
            let outcomes = ["t.v, ?1, ?2, ?3, NULL, NULL, NULL", "NULL, ?1, ?2, ?3, t.k, 't', 'v'"].map { arguments in
                [2, 4].map { row in outcome(of: arguments, in: row, [.text(key), .integer(Int64(skips)), paths]) }
            }
            #expect((outcomes[0] == outcomes[1]) == true, "\(key), \(skips)")
        }
        let empty = try connection.rows(
            "SELECT 1 FROM source.t CROSS JOIN ferry_json_each(t.v, '', 0, ?1, NULL, NULL, NULL) WHERE t.k = 1", [paths]
        )
        #expect(empty.isEmpty)
    }

    /// The rows of a call, or its error.
    private func outcome(of arguments: String, in row: Int, _ parameters: [Value]) -> String {
        do {
            let rows = try connection.rows(
                """
                SELECT quote(ordinal), quote(json), quote(member0), quote(member1) FROM source.t
                CROSS JOIN ferry_json_each(\(arguments)) WHERE t.k = \(row)
                """, parameters)
            return rows.map { $0.compactMap(\.text).joined(separator: " ") }.joined(separator: "\n")
        } catch {
            return connection.takeFunctionError().map { "\($0)" } ?? "no error of the function"
        }
    }

    /// Encodes paths as the statements bind them: each count, of four bytes, precedes its elements.
    private static func encode(_ paths: [[String]]) -> [UInt8] {
        let word = { (count: Int) in [UInt8(count), 0, 0, 0] }
        return word(paths.count)
            + paths.flatMap { path in word(path.count) + path.flatMap { word($0.utf8.count) + Array($0.utf8) } }
    }
}
