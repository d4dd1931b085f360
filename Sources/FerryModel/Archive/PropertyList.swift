package import FerryBase

/// A binary property list (`bplist00`); each object is read on demand.
///
/// The reader accepts files of any origin: it checks every position and count, never recurses, and limits the work of
/// all reads of one list by the list's size. A list that breaks these rules throws `.badArchive`.
package struct PropertyList: Sendable {
    private let reader: ByteReader
    private let offsetTable: Int
    private let offsetWidth: Int
    private let referenceWidth: Int
    /// Bytes that may still be decoded.
    private let allowance: Allowance
    /// The number of objects; every reference is smaller.
    private let objectCount: Int
    /// The reference of the topmost object.
    package let top: Int

    /// The limit of further reads: objects may be shared, so a small list could otherwise cause unlimited work.
    final class Allowance: Sendable {
        private let left: Locked<Int>

        init(_ count: Int) { left = Locked(count) }

        /// - Throws: `.badArchive` if the reads exceed the need of any sound list.
        func spend(_ count: Int) throws(FerryError) {
            let isEnough = left.withLock {
                $0 -= count
                return $0 >= 0
            }
            guard isEnough else {
                throw PropertyList.damaged("its objects refer to each other too often")
            }
        }
    }

    /// Whether the bytes begin as a binary property list does.
    package static func isBinary(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist0".utf8) }

    /// Reads header and trailer.
    ///
    /// - Throws: `.badArchive` if the bytes are not a binary property list or the trailer contradicts them.
    package init(_ bytes: [UInt8]) throws(FerryError) {
        let reader = ByteReader(bytes)
        guard Self.isBinary(bytes), bytes.count >= 8 + 1 + 32 else {
            throw FerryError(.badArchive, "These \(bytes.count) bytes are not a binary property list.")
        }
        let trailer = bytes.count - 32
        let offsetWidth = Int(bytes[trailer + 6])
        let referenceWidth = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth),
            let count = reader.bigEndian(at: trailer + 8, width: 8).flatMap(Int.init(exactly:)),
            let top = reader.bigEndian(at: trailer + 16, width: 8).flatMap(Int.init(exactly:)),
            let table = reader.bigEndian(at: trailer + 24, width: 8).flatMap(Int.init(exactly:)),
            count > 0, top < count, table >= 8, table < trailer, count <= (trailer - table) / offsetWidth
        else { throw Self.damaged("its trailer refers to offsets outside it") }
        self.reader = reader
        self.offsetTable = table
        self.offsetWidth = offsetWidth
        self.referenceWidth = referenceWidth
        self.objectCount = count
        self.top = top
        // A caller reads a sound archive a few times at most; 64 times its size is far more and still quick.
        allowance = Allowance(min(bytes.count, Int.max / 128) * 64 + 1_000_000)
    }

    /// Returns the object behind a reference.
    ///
    /// - Throws: `.badArchive` if the reference or the object exceeds the list.
    package func value(at reference: Int) throws(FerryError) -> PropertyListValue {
        let offset = try self.offset(of: reference)
        guard let marker = reader.byte(at: offset) else { throw Self.damaged("an object starts outside it") }
        let low = Int(marker & 0x0F)
        switch marker >> 4 {
        case 0x0:
            try spend(1)
            switch low {
            case 0x8: return .plain(.bool(false))
            case 0x9: return .plain(.bool(true))
            default: return .plain(.null)
            }
        case 0x1: return .plain(try integer(at: offset + 1, power: low))
        case 0x2:
            guard low == 2 || low == 3, let bits = reader.bigEndian(at: offset + 1, width: 1 << low) else {
                throw Self.damaged("a real number has an invalid length")
            }
            try spend(1 << low)
            return .plain(.real(low == 2 ? Double(Float(bitPattern: UInt32(bits))) : Double(bitPattern: bits)))
        case 0x3:
            guard low == 3, let bits = reader.bigEndian(at: offset + 1, width: 8) else {
                throw Self.damaged("a date has an invalid length")
            }
            try spend(8)
            return .plain(.date(Double(bitPattern: bits)))
        case 0x4: return .plain(.data(Array(try payload(at: offset, unit: 1))))
        case 0x5, 0x7: return .plain(.string(String(decoding: try payload(at: offset, unit: 1), as: UTF8.self)))
        case 0x6:
            let bytes = try payload(at: offset, unit: 2)
            let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2)
                .map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            return .plain(.string(String(decoding: units, as: UTF16.self)))
        case 0x8:
            guard low < 8, let number = reader.bigEndian(at: offset + 1, width: low + 1).flatMap(Int.init(exactly:))
            else { throw Self.damaged("a UID has an invalid length") }
            try spend(low + 1)
            return .plain(.uid(number))
        case 0xA: return .array(try references(in: try payload(at: offset, unit: referenceWidth)))
        case 0xB, 0xC: return .set(try references(in: try payload(at: offset, unit: referenceWidth)))
        case 0xD:
            let bytes = try payload(at: offset, unit: referenceWidth * 2)
            let half = bytes.startIndex + bytes.count / 2
            return .dictionary(
                keys: try references(in: bytes[..<half]), values: try references(in: bytes[half...]))
        default: throw Self.damaged("an object has an unknown type")
        }
    }

    /// Returns the entries of a dictionary whose keys are texts, in the order of the list.
    ///
    /// - Throws: `.badArchive`, also if the object is not such a dictionary.
    package func entries(at reference: Int) throws(FerryError) -> [(key: String, value: Int)] {
        guard case .dictionary(let keys, let values) = try value(at: reference) else {
            throw Self.damaged("a dictionary is missing")
        }
        var entries: [(key: String, value: Int)] = []
        entries.reserveCapacity(keys.count)
        for (key, value) in zip(keys, values) {
            guard let name = try self.value(at: key).plain?.string else {
                throw Self.damaged("a key is not text")
            }
            entries.append((name, value))
        }
        return entries
    }

    /// Whether an object is this ASCII text; makes no string, and needs no allowance beside that of the keys.
    func isText(_ text: StaticString, at reference: Int) throws(FerryError) -> Bool {
        let offset = try self.offset(of: reference)
        guard let marker = reader.byte(at: offset), marker >> 4 == 0x5 else { return false }
        let bytes = try extent(at: offset, unit: 1)
        return text.withUTF8Buffer { bytes.elementsEqual($0) }
    }

    static func damaged(_ reason: String) -> FerryError {
        FerryError(.badArchive, "A binary property list is damaged: \(reason).", remedy: "Use an undamaged copy.")
    }

    // MARK: Parts of an object

    private func offset(of reference: Int) throws(FerryError) -> Int {
        guard reference >= 0, reference < objectCount,
            let number = reader.bigEndian(at: offsetTable + reference * offsetWidth, width: offsetWidth),
            number >= 8, number < UInt64(offsetTable)
        else { throw Self.damaged("a reference points outside it") }
        return Int(number)
    }

    private func spend(_ bytes: Int) throws(FerryError) { try allowance.spend(bytes + 16) }

    private func integer(at offset: Int, power: Int) throws(FerryError) -> PropertyTree {
        guard power <= 4, reader.holds(1 << power, at: offset) else {
            throw Self.damaged("an integer has an invalid length")
        }
        try spend(1 << power)
        // Integers of eight bytes are signed, shorter ones are not; sixteen bytes hold values beyond `Int64`.
        let start = power == 4 ? offset + 8 : offset
        guard let number = reader.bigEndian(at: start, width: min(1 << power, 8)) else {
            throw Self.damaged("an integer has an invalid length")
        }
        guard power == 4, let high = reader.bigEndian(at: offset, width: 8) else {
            return .integer(Int64(bitPattern: number))
        }
        if high == 0 { return Int64(exactly: number).map { .integer($0) } ?? .real(Double(number)) }
        let signed = Int64(bitPattern: number)
        if high == .max, signed < 0 { return .integer(signed) }
        return .real(Double(Int64(bitPattern: high)) * 0x1p64 + Double(number))
    }

    /// Reads the content after an object's marker and count, `unit` bytes for each counted part.
    private func payload(at offset: Int, unit: Int) throws(FerryError) -> ArraySlice<UInt8> {
        let bytes = try extent(at: offset, unit: unit)
        try spend(bytes.count)
        return bytes
    }

    /// Returns the content as `payload` does, without spending the allowance.
    private func extent(at offset: Int, unit: Int) throws(FerryError) -> ArraySlice<UInt8> {
        guard let marker = reader.byte(at: offset) else { throw Self.damaged("an object starts outside it") }
        var count = Int(marker & 0x0F)
        var start = offset + 1
        if count == 0x0F {
            guard let size = reader.byte(at: start), size >> 4 == 0x1, size & 0x0F <= 3 else {
                throw Self.damaged("a count is not an integer")
            }
            let width = 1 << Int(size & 0x0F)
            guard let number = reader.bigEndian(at: start + 1, width: width).flatMap(Int.init(exactly:)) else {
                throw Self.damaged("a count is not an integer")
            }
            count = number
            start += 1 + width
        }
        guard count <= (offsetTable - min(start, offsetTable)) / unit,
            let bytes = reader.slice(at: start, count: count * unit)
        else { throw Self.damaged("an object is longer than the rest of it") }
        return bytes
    }

    private func references(in bytes: ArraySlice<UInt8>) throws(FerryError) -> PropertyListValue.References {
        PropertyListValue.References(
            reader: reader, offset: bytes.startIndex, width: referenceWidth, count: bytes.count / referenceWidth)
    }
}

/// One object of a binary property list; collections hold references to other objects of the list.
package enum PropertyListValue: Sendable {
    /// Any object but a collection.
    case plain(PropertyTree)
    case array(References)
    case set(References)
    case dictionary(keys: References, values: References)

    package var plain: PropertyTree? { if case .plain(let value) = self { value } else { nil } }

    /// The references of a collection, read from the list's bytes on demand.
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
            // A reference too large for an `Int` belongs to no object; the list refuses to follow it.
            return reader.bigEndian(at: offset + position * width, width: width).flatMap(Int.init(exactly:)) ?? .max
        }
    }
}
