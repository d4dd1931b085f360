import FerryBase
import FerryExpression
import FerryVerify
import Foundation
import Testing

/// `plist:` reads property lists of any origin within limits; verification's own reader gives the same values.
@Suite struct PropertyListValueTests {
    private struct Nothing: PlainObjectSource {
        var bytes: [UInt8]

        func value(of attribute: String, in object: PlainObject) throws -> PlainValue { .blob(bytes) }
        func property(_ name: String, of entity: String) -> PlainProperty { .other }
        func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws {}
        func eachRelated(_ relationship: String, of object: PlainObject, _ body: (PlainObject) throws -> Void) throws {}
    }

    /// Returns the value by the function and by verification's evaluator, as text; nil for a failure.
    private func values(_ bytes: [UInt8], _ keys: String = "") throws -> (String?, String?) {
        let function = try #require(ScalarFunction.named("ferry_plist_value"))
        var result = FunctionResult()
        let parts = keys.split(separator: ".").map { Array($0.utf8) }
        var found: String?
        func call(_ place: Int, _ values: [FunctionValue]) throws {
            guard place < parts.count else {
                try values.withUnsafeBufferPointer { values in try function.call(values, result: &result) }
                switch result.value {
                case .null: found = "nil"
                case .integer(let integer): found = "\(integer)"
                case .real(let real): found = "\(real)"
                case .text, .blob: found = String(decoding: result.bytes, as: UTF8.self)
                case .borrowedText, .argument: found = "borrowed"
                }
                return
            }
            try parts[place].withUnsafeBytes { try call(place + 1, values + [.text($0)]) }
        }
        do {
            try bytes.withUnsafeBytes { try call(0, [.blob($0)]) }
        } catch let error as FerryError {
            #expect(error.code == .rowFailed)
        }
        let expression = try Expression.parse("plist:key:($source.x, '\(keys)')")
        var plain: String?
        do {
            let evaluator = PlainEvaluator(objects: Nothing(bytes: bytes), now: 0)
            switch try evaluator.value(
                of: expression, in: PlainScope(source: PlainObject(entity: "X", key: 1))
            ).plain {
            case .null: plain = "nil"
            case .boolean(let flag): plain = flag ? "1" : "0"
            case .integer(let integer): plain = "\(integer)"
            case .real(let real): plain = "\(real)"
            case .text(let bytes): plain = String(decoding: bytes, as: UTF8.self)
            default: plain = "something else"
            }
        } catch is PlainFailure {}
        return (found, plain)
    }

    private func xml(_ content: String) -> [UInt8] {
        Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\(content)</plist>".utf8)
    }

    @Test(
        "Every value of an XML list is read under its keys",
        arguments: [
            ("<dict><key>a</key><integer>-7</integer></dict>", "a", "-7"),
            ("<dict><key>a</key><real>2.5</real></dict>", "a", "2.5"),
            ("<dict><key>a</key><true/><key>b</key><false/></dict>", "b", "0"),
            ("<dict><key>a</key><array><string>x</string><string>y &amp; z</string></array></dict>", "a.1", "y & z"),
            ("<dict><key>a</key><array><string>x</string></array></dict>", "a.7", "nil"),
            ("<dict><key>a</key><date>2001-01-01T00:01:00Z</date></dict>", "a", "60.0"),
            ("<dict><key>a</key><data>AP8=</data></dict>", "a", "AP8="),
            ("<dict><key>a</key><dict><key>b</key><string/></dict></dict>", "a.b", ""),
            (
                "<array><integer>1</integer><dict><key>k</key><string>\"</string></dict></array>", "",
                "[1,{\"k\":\"\\\"\"}]"
            ),
            ("<string>alone</string>", "", "alone"), ("<string>alone</string>", "a", "nil"),
        ])
    func reads(_ content: String, _ keys: String, _ wanted: String) throws {
        let (found, plain) = try values(xml(content), keys)
        #expect(found == wanted)
        #expect(plain == wanted)
    }

    @Test(
        "Data that is no property list fails its row, with both readers",
        arguments: [
            "<dict><key>a</key></dict>", "<dict><integer>1</integer></dict>", "<integer>x</integer>", "",
            "<string>a</string><string>b</string>", "<date>yesterday</date>", "<data>?</data>", "<other/>",
            String(repeating: "<array>", count: 5_000) + String(repeating: "</array>", count: 5_000),
        ])
    func refuses(_ content: String) throws {
        let (found, plain) = try values(xml(content))
        #expect(found == nil, "\(content.prefix(50))")
        #expect(plain == nil, "\(content.prefix(50))")
    }

    @Test(
        "nil gives nil; damaged bytes of a binary list fail or give a value, equally with both readers, and never crash"
    )
    func survivesDamage() throws {
        #expect(try values([]) == ("nil", "nil"))
        let whole = try PropertyListSerialization.data(
            fromPropertyList: ["a": [1, 2.5, "x", Data([1, 2]), Date(timeIntervalSinceReferenceDate: 3)]],
            format: .binary, options: 0)
        let bytes = Array(whole)
        #expect(try values(bytes, "a.2") == ("x", "x"))
        #expect(try values(bytes, "a.4") == ("3.0", "3.0"))
        for index in bytes.indices {
            for flip: UInt8 in [1, 0x15, 0x80] {
                var damaged = bytes
                damaged[index] ^= flip
                let (found, plain) = try values(damaged)
                #expect(found == plain, "byte \(index)")
            }
            #expect(try values(Array(bytes[..<index]), "a") == (index == 0 ? ("nil", "nil") : (nil, nil)))
        }
    }
}
