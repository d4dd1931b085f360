internal import FerryBase
internal import Foundation

/// Data to text and back, UUIDs from names, values of JSON, and joined texts; nil gives nil.
extension ScalarFunction {
    static let encodings: [ScalarFunction] = [
        ofData("ferry_hex", "hex:") { data, result in
            result.setText { text in
                for byte in data { appendHexadecimal(byte, to: &text) }
            }
        },
        toData("ferry_data_from_hex", "dataFromHex:") { bytes(hexadecimal: $0) },
        ofData("ferry_base64", "base64:") { data, result in
            result.set(text: Data(data).base64EncodedString().utf8)
        },
        toData("ferry_data_from_base64", "dataFromBase64:") { Data(base64Encoded: Data($0)).map { Array($0) } },
        toData("ferry_data_from_text", "dataFromText:") { Array($0) },
        ofData("ferry_text_from_data", "textFromData:") { data, result throws(FerryError) in
            guard String(utf8: data) != nil else {
                throw .row("textFromData:", "the data is not UTF-8")
            }
            result.set(text: data)
        },
        // Version 8 of RFC 9562: the first half of the name's SHA-256, so equal names give equal UUIDs.
        toData("ferry_uuid_from_name", "uuidFromName:") { text in
            var bytes = Array(SHA256.hash(Array(text)).prefix(16))
            bytes[6] = bytes[6] & 0x0F | 0x80
            bytes[8] = bytes[8] & 0x3F | 0x80
            return bytes
        },
        // The separator, then the texts; nil texts are ignored, and without texts the result is nil.
        ScalarFunction("ferry_join", title: "join:with:", arguments: -1) { arguments, result throws(FerryError) in
            guard let first = arguments.first, let separator = try first.text("join:with:") else { return }
            var texts: [UnsafeRawBufferPointer] = []
            for argument in arguments.dropFirst() {
                guard let text = try argument.text("join:with:") else { continue }
                texts += texts.isEmpty ? [text] : [separator, text]
            }
            if !texts.isEmpty { result.set(texts: texts) }
        },
        // A whole JSON document and the keys of a path into it; an empty text and a missing key give nil.
        ScalarFunction("ferry_json_value", title: "JSON", arguments: -1) { arguments, result throws(FerryError) in
            guard let text = try arguments.first?.content("JSON", "text") else { return }
            var scanner = JSONScanner(text)
            scanner.skipSpace()
            if scanner.isAtEnd { return }
            try read(text, isDocument: true, under: arguments.dropFirst(), into: &result)
        },
        // An element's JSON text and the keys of a path into it; a missing key, and a key of a non-object, give nil.
        ScalarFunction("ferry_json_get", title: "JSON", arguments: -1) { arguments, result throws(FerryError) in
            guard let first = arguments.first, let text = try first.text("JSON") else { return }
            try read(text, isDocument: false, under: arguments.dropFirst(), into: &result)
        },
    ]

    static func ofData(
        _ name: String, _ title: String,
        _ body: @escaping @Sendable (UnsafeRawBufferPointer, inout FunctionResult) throws(FerryError) -> Void
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .blob(let bytes): try body(bytes, &result)
            default: throw .row(title, "expected binary data, found \(arguments[0].kind)")
            }
        }
    }

    private static func toData(
        _ name: String, _ title: String, _ body: @escaping @Sendable (UnsafeRawBufferPointer) -> [UInt8]?
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let text = try arguments[0].text(title) else { return }
            guard let bytes = body(text) else { throw .row(title, "the text has the wrong format") }
            result.set(blob: bytes)
        }
    }

    /// Reads the value under a path of keys; throws `.rowFailed` for malformed JSON, or text behind a document.
    private static func read(
        _ text: UnsafeRawBufferPointer, isDocument: Bool, under keys: Slice<Arguments>,
        into result: inout FunctionResult
    ) throws(FerryError) {
        var scanner = JSONScanner(text)
        var value: JSONValue
        do throws(JSONScanner.Problem) {
            value = JSONValue(try scanner.value())
            scanner.skipSpace()
            if isDocument, !scanner.isAtEnd { throw .invalid }
        } catch {
            throw .json(error, at: scanner.position)
        }
        for key in keys {
            guard let key = try key.text("JSON"), let member = value.member(key) else { return }
            value = member
        }
        value.read(into: &result)
    }
}
