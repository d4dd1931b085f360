import FerryBase
import FerryExpression
import Testing

@Suite struct JSONTests {
    /// A text that is read in pieces; a read may fail.
    private final class Pieces: JSONText {
        struct Failure: Error {}

        private let bytes: [UInt8]
        private(set) var reads = 0
        var failingRead: Int?

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var count: Int { bytes.count }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
            if reads == failingRead { throw Failure() }
            reads += 1
            buffer.copyBytes(from: bytes[offset..<offset + buffer.count])
        }
    }

    /// Returns the elements' values and their text; a text read in pieces must give the same, or the same error.
    private func elements(_ document: String, key: String) throws -> [(value: Cell, json: String)] {
        try elements(Array(document.utf8), key: key)
    }

    private func elements(_ document: [UInt8], key: String) throws -> [(value: Cell, json: String)] {
        let outcome = Result {
            try document.withUnsafeBytes { text in try elements(key: key) { try JSONArrayScanner(text, key: $0) } }
        }
        for step in [1, 2, 3, 7, 64] where document.count < 10_000 {
            let other = Result {
                try elements(key: key) { try JSONArrayScanner(Pieces(document), key: $0, step: step) }
            }
            switch (outcome, other) {
            case (.success(let first), .success(let second)):
                #expect(first.elementsEqual(second) { $0 == $1 }, "pieces of \(step) bytes")
            case (.failure(let first), .failure(let second)):
                #expect("\(first)" == "\(second)", "pieces of \(step) bytes")
            default: Issue.record("Pieces of \(step) bytes have another outcome.")
            }
        }
        return try outcome.get()
    }

    private func elements(
        key: String, _ make: (UnsafeRawBufferPointer) throws -> JSONArrayScanner
    ) throws -> [(value: Cell, json: String)] {
        var found: [(value: Cell, json: String)] = []
        let key = Array(key.utf8)
        try key.withUnsafeBytes { key in
            var scanner = try make(key)
            var result = FunctionResult()
            while let element = try scanner.next() {
                #expect(element.index == found.count)
                element.read(into: &result)
                let value: Cell =
                    switch result.value {
                    case .null: .null
                    case .integer(let value): .integer(value)
                    case .real(let value): .real(value)
                    case .text: .text(String(decoding: result.bytes, as: UTF8.self))
                    case .borrowedText(let bytes): .text(String(decoding: bytes, as: UTF8.self))
                    case .blob, .argument: preconditionFailure("JSON has no such value")
                    }
                found.append((value, String(decoding: element.json, as: UTF8.self)))
            }
            #expect(try scanner.next() == nil)
        }
        return found
    }

    @Test(
        "The elements of an array are given in order, with their values",
        arguments: [
            ("[]", "", []),
            (" [ ] ", "", []),
            ("[1, -2, 0, 2.5, 1e2, true, false, null]", "", [1, -2, 0, 2.5, 100.0, 1, 0, nil]),
            (
                "[9223372036854775807,-9223372036854775808,9223372036854775808,1e308,1e-999]", "",
                [.integer(.max), .integer(.min), 9_223_372_036_854_775_808.0, 1e308, 0.0]
            ),
            (
                #"["a","","é中😀","\u00e9\"\\\/\b\f\n\r\t","\ud83d\ude00","a\u0000b"]"#, "",
                ["a", "", "é中😀", "é\"\\/\u{8}\u{C}\n\r\t", "😀", "a\0b"]
            ),
            (#"[{"a":[1,{"b":"]"}]},[ 1 , 2 ],{}]"#, "", [#"{"a":[1,{"b":"]"}]}"#, "[ 1 , 2 ]", "{}"]),
            (
                #"{"x":1,"artists":[{"name":"A"},{"name":"B"}],"y":{}}"#, "artists",
                [#"{"name":"A"}"#, #"{"name":"B"}"#]
            ),
            (#"{"\u0061rtists":[1]}"#, "artists", [1]),
            (#"{"artists":[1],"artists":[2]}"#, "artists", [2]),
            (#"{"in":{"artists":[9]},"artists":[1]}"#, "artists", [1]),
            (#"{"other":[1]}"#, "artists", []),
            (#"{"artists":null}"#, "artists", []),
            ("null", "artists", []),
            ("null", "", []),
            ("", "artists", []),
            ("  \n", "artists", []),
        ] as [(String, String, [Cell])])
    func scans(document: String, key: String, expected: [Cell]) throws {
        #expect(try elements(document, key: key).map(\.value) == expected)
    }

    @Test(
        "A document that is invalid JSON, or has no array there, is an error before any element",
        arguments: [
            ("[1,2", ""), ("[1,,2]", ""), ("[1,]", ""), ("[,1]", ""), ("[1 2]", ""), ("[01]", ""), ("[+1]", ""),
            ("[.5]", ""), ("[1.]", ""), ("[1e]", ""), ("[-]", ""), ("[nul]", ""), ("[True]", ""), ("['a']", ""),
            ("[\"a]", ""), ("[\"\\x\"]", ""), ("[\"\\u12\"]", ""), ("[\"\\ud800\"]", ""), ("[\"\\ud800x\"]", ""),
            ("[\"\\udc00\"]", ""), ("[\"a\nb\"]", ""), ("[1]x", ""), ("[1] [2]", ""), ("{\"a\":1,}", "a"),
            ("{\"a\" 1}", "a"), ("{a:1}", "a"), ("{\"a\":[1]", "a"), ("{\"a\":[1}]", "a"), ("[NaN]", ""), ("x", ""),
            ("[1e999]", ""),
            ("[-1.8e308]", ""), ("[1" + String(repeating: "0", count: 309) + "]", ""), ("{\"a\":[],\"b\":1e400}", "a"),
            ("{}", ""), ("1", ""), ("\"a\"", ""), ("[1]", "a"), ("{\"a\":1}", "a"), ("{\"a\":{}}", "a"),
            ("{\"a\":\"[1]\"}", "a"), ("\u{FEFF}[1]", ""),
        ])
    func refuses(document: String, key: String) throws {
        let error = try #require(throws: FerryError.self) { _ = try elements(document, key: key) }
        #expect(error.code == .rowFailed)
    }

    @Test(
        "Text in invalid UTF-8 is no JSON",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xF0, 0x9F, 0x98], [0xE4, 0xB8, 0x41],
        ] as [[UInt8]])
    func refusesInvalidUTF8(bytes: [UInt8]) {
        let document = Array("[\"".utf8) + bytes + Array("\"]".utf8)
        #expect(throws: FerryError.self) { try elements(document, key: "") }
    }

    @Test("A read that fails ends the scan with its error, wherever it is")
    func failingRead() throws {
        let document = Array(#"{"other": "some text", "list": [{"a": "b"}, [1, 2, 3], "last", 5]}"#.utf8)
        func scan(_ text: Pieces) throws -> Int {
            try elements(key: "list") { try JSONArrayScanner(text, key: $0, step: 4) }.count
        }
        let whole = Pieces(document)
        #expect(try scan(whole) == 4)
        for read in 0..<whole.reads {
            let text = Pieces(document)
            text.failingRead = read
            #expect(throws: Pieces.Failure.self, "read \(read)") { try scan(text) }
        }
    }

    @Test("The longest element of an array is measured in pieces")
    func longestElement() throws {
        let document = Array(#"{"a": ["longer than all"], "list": [ "abc" , {"x": [1,2]}, 5 ]}"#.utf8)
        for (key, length) in [("list", 12), ("a", 17), ("none", 0)] {
            let longest = try Array(key.utf8).withUnsafeBytes {
                try JSONArrayScanner.longestElement(of: Pieces(document), key: $0, step: 4)
            }
            #expect(longest == length, "\(key)")
        }
    }

    @Test("Nesting is read up to its limit without recursion, and refused beyond")
    func limitsNesting() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try elements(nested(1000), key: "").count == 1)
        #expect(throws: FerryError.self) { try elements(nested(1002), key: "") }
        #expect(throws: FerryError.self) { try elements(nested(500_000), key: "") }
        let objects = String(repeating: "{\"a\":", count: 900) + "1" + String(repeating: "}", count: 900)
        #expect(try elements("[\(objects)]", key: "").map(\.json) == [objects])
    }

    @Test("Every truncation of a document is an error")
    func refusesTruncation() throws {
        let document = #"{"a":[1,{"b":"\u00e9"},[true,null]],"c":-1.5e3}"#
        #expect(try elements(document, key: "a").count == 3)
        for length in 1..<document.utf8.count {
            #expect(throws: FerryError.self) { try elements(String(document.prefix(length)), key: "a") }
        }
    }

    @Test(
        "A value is found by its keys",
        arguments: [
            (#"{"name":"A","n":5}"#, ["name"], "A"),
            (#"{"name":"A","n":5}"#, ["n"], 5),
            (#"{"n":1.0}"#, ["n"], 1.0),
            (#"{"n":true}"#, ["n"], 1),
            (#"{"n":null}"#, ["n"], nil),
            (#"{"n":[1, 2]}"#, ["n"], "[1, 2]"),
            (#"{"n":1,"n":2}"#, ["n"], 2),
            (#"{"a":{"b":{"c":"x"}}}"#, ["a", "b", "c"], "x"),
            (#"{"a":"{\"b\":1}"}"#, ["a", "b"], nil),
            (#"{"a":1}"#, ["b"], nil),
            (#"{"a\"b":1}"#, [#"a"b"#], 1),
            (#""text""#, ["a"], nil),
            (#""text""#, [], "text"),
            ("[1]", ["a"], nil),
            ("{}", ["a"], nil),
            (nil, ["a"], nil),
        ] as [(Cell, [Cell], Cell)])
    func gets(document: Cell, keys: [Cell], expected: Cell) throws {
        var result = FunctionResult()
        #expect(try call("ferry_json_get", [document] + keys, &result) == expected)
    }
}
