/// Estimates from the first bytes of a JSON text, of which no more is read.
package enum JSONSample {
    /// The number of elements of the array under a key, by the first bytes of the text.
    ///
    /// The rest of the text counts as elements of the average length of those at the beginning.
    ///
    /// - Parameters:
    ///   - key: The key of the array in the text's object; empty if the text is the array.
    ///   - bytes: The first bytes of the text.
    ///   - count: The bytes of the whole text.
    /// - Returns: The number; nil if the first bytes show no array under the key.
    package static func elements(under key: String, in bytes: UnsafeRawBufferPointer, of count: Int) -> Double? {
        var scanner = JSONScanner(bytes)
        do throws(JSONScanner.Problem) {
            if !key.isEmpty, try !enter(key, &scanner) { return nil }
            guard scanner.pass(UInt8(ascii: "[")) else { return try scanner.kind() == .null ? 0 : nil }
        } catch {
            return nil
        }
        if scanner.pass(UInt8(ascii: "]")) { return 0 }
        let start = scanner.offset
        var (found, end) = (0, start)
        do throws(JSONScanner.Problem) {
            repeat {
                try scanner.skipValue(within: 2)
                (found, end) = (found + 1, scanner.offset)
            } while scanner.pass(UInt8(ascii: ","))
            if scanner.pass(UInt8(ascii: "]")) { return Double(found) }
        } catch {
            // The first bytes end within an element.
        }
        guard found > 0 else { return 1 }
        return Double(found) * Double(count - start) / Double(end - start)
    }

    /// Moves to the value under a key; false if the object has no such key.
    private static func enter(
        _ key: String, _ scanner: inout JSONScanner
    ) throws(JSONScanner.Problem) -> Bool {
        guard scanner.pass(UInt8(ascii: "{")), !scanner.pass(UInt8(ascii: "}")) else { return false }
        let key = Array(key.utf8)
        repeat {
            scanner.skipSpace()
            let name = JSONString(try scanner.string())
            guard scanner.pass(UInt8(ascii: ":")) else { throw .invalid }
            if key.withUnsafeBytes({ name.equals($0) }) { return true }
            try scanner.skipValue(within: 1)
        } while scanner.pass(UInt8(ascii: ","))
        return false
    }
}
