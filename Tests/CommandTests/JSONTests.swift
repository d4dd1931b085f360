internal import Foundation
internal import Testing

@testable internal import FerryCommand

@Suite("JSON")
struct JSONTests {
    @Test("Keys stay in the given order, and the two forms have the same content")
    func keepsOrder() {
        let value = JSON.object([
            ("b", .integer(Int64(1))), ("a", .array([.null, .bool(true), .array([]), .object([])])),
            ("c", .number(0.5)),
        ])
        #expect(value.line == #"{"b":1,"a":[null,true,[],{}],"c":0.5}"#)
        #expect(
            value.pretty == """
                {
                  "b": 1,
                  "a": [
                    null,
                    true,
                    [],
                    {}
                  ],
                  "c": 0.5
                }
                """)
    }

    @Test("Values that JSON lacks are null, and unknown values are null")
    func writesNull() {
        #expect(JSON.number(Double.nan).line == "null")
        #expect(JSON.number(-Double.infinity).line == "null")
        let members: JSON = ["text": nil as String?, "count": nil as Int64?, "whole": 3.0 as Double?]
        #expect(members.line == #"{"text":null,"count":null,"whole":3}"#)
    }

    @Test(
        "Any text survives another reader",
        arguments: ["", "plain", "quote \" and \\", "line\nend\r\ttab", "\u{0}\u{1f}\u{7f}", "Œuvre 📚 \u{2028}"])
    func escapesText(_ text: String) throws {
        let line = JSON.array([.string(text)]).line
        #expect(try JSONDecoder().decode([String].self, from: Data(line.utf8)) == [text])
        #expect(!line.contains("\n"))
    }
}
