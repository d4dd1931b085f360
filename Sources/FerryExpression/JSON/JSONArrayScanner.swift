package import FerryBase

/// The elements of an array in a JSON text, one after another, read in place.
///
/// The whole document is checked before the first element is given, so a text is taken as a whole or not at all.
package struct JSONArrayScanner {
    /// One element; what it points to is valid as long as the text.
    package struct Element {
        /// The place in the array, from 0.
        package var index: Int64
        /// The element as it stands in the text: what `ferry_json_get` reads.
        package var json: UnsafeRawBufferPointer

        /// The element's own value: a scalar, or the text of an object or array.
        package func read(into result: inout FunctionResult) { JSONValue(json).read(into: &result) }

        /// The value at the end of a path of keys, as `ferry_json_get` reads it.
        package func read(_ path: [[UInt8]], into result: inout FunctionResult) {
            guard let value = JSONValue(json).member(at: path) else { return result.setNull() }
            value.read(into: &result)
        }
    }

    private enum Location {
        case nothing
        case array(Int)
        case somethingElse
    }

    private var cursor: JSONCursor
    private var index: Int64 = 0
    /// Whether elements may follow.
    private var isInside: Bool

    /// Checks a document and finds the array.
    ///
    /// - Parameters:
    ///   - text: UTF-8. Empty text, a JSON `null`, a missing key and a `null` under the key give no elements.
    ///   - key: The key of the array in the document's object; empty for a document that is the array itself. Where a
    ///     key occurs twice the last one counts.
    /// - Throws: ``FerryError`` `.rowFailed` when the text is no JSON or the value is no array.
    package init(_ text: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) throws(FerryError) {
        cursor = JSONCursor(text)
        isInside = false
        let location: Location
        do throws(JSONCursor.Problem) {
            location = try Self.locate(key, in: &cursor)
        } catch {
            throw .json(error, at: cursor.position)
        }
        switch location {
        case .nothing: break
        case .array(let position):
            cursor = JSONCursor(text, at: position + 1)
            isInside = true
        case .somethingElse:
            throw .row(
                "JSON", key.isEmpty ? "was given a document that is no array" : "found something else than an array")
        }
    }

    /// The next element, or nil after the last.
    package mutating func next() -> Element? {
        guard isInside else { return nil }
        if cursor.pass(UInt8(ascii: "]")) || (index > 0 && !cursor.pass(UInt8(ascii: ","))) {
            isInside = false
            return nil
        }
        defer { index += 1 }
        return Element(index: index, json: cursor.checkedValue())
    }

    private static func locate(
        _ key: UnsafeRawBufferPointer, in cursor: inout JSONCursor
    ) throws(JSONCursor.Problem) -> Location {
        cursor.skipSpace()
        if cursor.isAtEnd { return .nothing }
        let kind = try cursor.kind()
        var found: JSONValue?
        if !key.isEmpty, kind == .object {
            found = try cursor.object(member: key).map(JSONValue.init)
        } else {
            found = JSONValue(try cursor.value())
        }
        cursor.skipSpace()
        guard cursor.isAtEnd else { throw .invalid }
        if !key.isEmpty, kind != .object, kind != .null { return .somethingElse }
        guard let found, found.kind != .null else { return .nothing }
        guard found.kind == .array else { return .somethingElse }
        return .array(cursor.offset(of: found.text))
    }
}

extension FerryError {
    static func json(_ problem: JSONCursor.Problem, at position: Int) -> FerryError {
        switch problem {
        case .invalid: .row("JSON", "was given text that is no valid JSON (at byte \(position))")
        case .tooDeep: .row("JSON", "was given a document nested more than \(JSONCursor.depthLimit) deep")
        }
    }
}
