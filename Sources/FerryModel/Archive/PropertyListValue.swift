internal import FerryBase

/// One object of a binary property list; collections hold references to other objects of the list.
package enum PropertyListValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Also a whole number above the range of `Int64`.
    case real(Double)
    /// Seconds since 2001-01-01 UTC.
    case date(Double)
    case data([UInt8])
    case string(String)
    /// The position of an object in a keyed archive.
    case uid(Int)
    case array(References)
    case set(References)
    case dictionary(keys: References, values: References)

    /// The references of a collection, read from the list's bytes as they are asked for.
    package struct References: RandomAccessCollection, Sendable {
        private let reader: ByteReader
        private let offset: Int
        private let width: Int
        package let count: Int

        /// - Precondition: All references lie within the bytes.
        init(reader: ByteReader, offset: Int, width: Int, count: Int) {
            precondition(reader.holds(count * width, at: offset), "References lie within the bytes.")
            self.reader = reader
            self.offset = offset
            self.width = width
            self.count = count
        }

        package var startIndex: Int { 0 }
        package var endIndex: Int { count }

        package subscript(position: Int) -> Int {
            precondition(position >= 0 && position < count, "A reference within the collection.")
            // A reference too large for an `Int` names no object; the list refuses it when it is followed.
            return reader.bigEndian(at: offset + position * width, width: width).flatMap(Int.init(exactly:)) ?? .max
        }
    }
}
