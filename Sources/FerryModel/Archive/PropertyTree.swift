package import FerryBase

/// A property list as a value, for small lists and for lists to write.
package enum PropertyTree: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A real, or a whole number above the range of `Int64`.
    case real(Double)
    /// Seconds since 2001-01-01 UTC.
    case date(Double)
    case data([UInt8])
    case string(String)
    /// The position of an object in a keyed archive.
    case uid(Int)
    case array([PropertyTree])
    case set([PropertyTree])
    case dictionary([String: PropertyTree])

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var data: [UInt8]? { if case .data(let value) = self { value } else { nil } }
    package var array: [PropertyTree]? { if case .array(let value) = self { value } else { nil } }
    package var dictionary: [String: PropertyTree]? { if case .dictionary(let value) = self { value } else { nil } }

    /// The limit of nesting: metadata nests three levels, and an app's own metadata not many more.
    private static let depthLimit = 64

    /// Reads a binary property list.
    ///
    /// - Throws: `badArchive` if the bytes are not a property list, or are damaged.
    package init(binary bytes: [UInt8]) throws(FerryError) {
        var reading = Reading(try PropertyList(bytes), bytes: bytes.count)
        self = try reading.tree(reading.list.top, depth: 0)
    }

    /// The binary property list: equal trees give equal bytes.
    package var binary: [UInt8] {
        var writer = PropertyTreeWriter()
        let top = writer.add(self)
        precondition(top == 0, "The topmost object is the first one.")
        return writer.encoded()
    }

    private struct Reading {
        let list: PropertyList
        /// The number of references that the reader may still follow, at first one for each byte: no writer shares
        /// collections, and shared collections could cause unlimited work.
        private var visits: Int
        /// Texts and data by reference: objects of the list share them, and each is held once.
        private var leaves: [Int: PropertyTree] = [:]

        init(_ list: PropertyList, bytes: Int) {
            self.list = list
            visits = bytes
        }

        mutating func tree(_ reference: Int, depth: Int) throws(FerryError) -> PropertyTree {
            guard depth < depthLimit else { throw FerryError(.badArchive, "A property list nests too deeply.") }
            visits -= 1
            guard visits >= 0 else {
                throw PropertyList.damaged("its collections refer to each other too often")
            }
            if let leaf = leaves[reference] { return leaf }
            switch try list.value(at: reference) {
            case .plain(let leaf):
                switch leaf {
                case .data, .string: leaves[reference] = leaf
                default: break
                }
                return leaf
            case .array(let references): return .array(try elements(references, depth: depth))
            case .set(let references): return .set(try elements(references, depth: depth))
            case .dictionary(let keys, let values):
                var dictionary: [String: PropertyTree] = [:]
                for (key, value) in zip(keys, values) {
                    guard let name = try tree(key, depth: depth + 1).string else {
                        throw PropertyList.damaged("a key is not text")
                    }
                    dictionary[name] = try tree(value, depth: depth + 1)
                }
                return .dictionary(dictionary)
            }
        }

        private mutating func elements(
            _ references: PropertyListValue.References, depth: Int
        ) throws(FerryError) -> [PropertyTree] {
            try references.map { reference throws(FerryError) in try tree(reference, depth: depth + 1) }
        }
    }
}

/// Writes a property list in binary form; equal trees give equal bytes.
///
/// Foundation's writer orders dictionaries by hash, which differs from process to process, but a resumed run must write
/// the bytes of an uninterrupted run. This writer orders keys by code unit.
///
/// The archive of a large model has some ten thousand objects, which are held without an allocation for each.
struct PropertyTreeWriter {
    /// The bytes of the objects, one object after another; of a collection only its marker and count.
    private var heads: [UInt8] = []
    /// The end of each object in ``heads``.
    private var ends: [UInt32] = []
    /// The objects in the collections, one collection after another.
    private var references: [UInt32] = []
    /// The part of ``references`` of each object; empty if it is not a collection.
    private var parts: [Range<UInt32>] = []
    /// Positions of the texts and numbers that the list already has: keys repeat in every object of an archive.
    private var leaves: [[UInt8]: UInt32] = [:]
    /// The same of references to an archive's objects.
    private var identifiers: [Int: UInt32] = [:]

    // MARK: Objects

    @discardableResult
    mutating func add(_ tree: PropertyTree) -> UInt32 {
        switch tree {
        case .array(let elements), .set(let elements):
            return addCollection(head(of: tree), count: elements.count) { writer, place in
                for (index, element) in elements.enumerated() { writer.references[place + index] = writer.add(element) }
            }
        case .dictionary(let entries):
            let sorted = entries.inOrder { codeUnitOrder($0.key, $1.key) }
            return addDictionary(sorted.map(\.key)) { $0.add(sorted[$1].value) }
        case .uid(let value):
            if let known = identifiers[value] { return known }
            let position = append(head(of: tree))
            identifiers[value] = position
            return position
        default:
            let head = head(of: tree)
            if let known = leaves[head] { return known }
            let position = append(head)
            leaves[head] = position
            return position
        }
    }

    /// Adds a dictionary whose keys are in the order of their code units; `addValue` adds the value of the n-th key.
    @discardableResult
    mutating func addDictionary(_ keys: [String], _ addValue: (inout Self, Int) -> UInt32) -> UInt32 {
        addCollection(header(0xD0, keys.count), count: 2 * keys.count) { writer, place in
            for (index, key) in keys.enumerated() { writer.references[place + index] = writer.add(.string(key)) }
            for index in keys.indices { writer.references[place + keys.count + index] = addValue(&writer, index) }
        }
    }

    mutating func addArray(count: Int, _ add: (inout Self, Int) -> UInt32) -> UInt32 {
        addCollection(header(0xA0, count), count: count) { writer, place in
            for index in 0..<count { writer.references[place + index] = add(&writer, index) }
        }
    }

    private mutating func addCollection(
        _ head: [UInt8], count: Int, _ fill: (inout Self, _ place: Int) -> Void
    ) -> UInt32 {
        let (position, place) = (append(head), references.count)
        references += repeatElement(0, count: count)
        parts[Int(position)] = UInt32(place)..<UInt32(place + count)
        fill(&self, place)
        return position
    }

    private mutating func append(_ head: [UInt8]) -> UInt32 {
        heads += head
        ends.append(UInt32(heads.count))
        parts.append(0..<0)
        return UInt32(ends.count - 1)
    }

    private func head(of tree: PropertyTree) -> [UInt8] {
        switch tree {
        case .null: [0x00]
        case .bool(let value): [value ? 0x09 : 0x08]
        case .integer(let value): integer(value)
        case .real(let value): [0x23] + bigEndian(value.bitPattern, width: 8)
        case .date(let value): [0x33] + bigEndian(value.bitPattern, width: 8)
        case .data(let bytes): header(0x40, bytes.count) + bytes
        case .string(let text): string(text)
        case .uid(let value): uid(value)
        case .array(let elements): header(0xA0, elements.count)
        case .set(let elements): header(0xC0, elements.count)
        case .dictionary(let entries): header(0xD0, entries.count)
        }
    }

    private func string(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ $0 < 128 }) { return header(0x50, bytes.count) + bytes }
        let units = Array(text.utf16)
        return header(0x60, units.count) + units.flatMap { bigEndian(UInt64($0), width: 2) }
    }

    private func uid(_ value: Int) -> [UInt8] {
        let width = PropertyTreeWriter.width(of: UInt64(value))
        return [0x80 | UInt8(width - 1)] + bigEndian(UInt64(value), width: width)
    }

    private func integer(_ value: Int64) -> [UInt8] {
        let bits = UInt64(bitPattern: value)
        let width = PropertyTreeWriter.width(of: bits)
        return [0x10 | UInt8(width.trailingZeroBitCount)] + bigEndian(bits, width: width)
    }

    private func header(_ marker: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [marker | UInt8(count)] : [marker | 0x0F] + integer(Int64(count))
    }

    // MARK: The file

    func encoded() -> [UInt8] {
        let referenceWidth = PropertyTreeWriter.width(of: UInt64(ends.count))
        let magic = Array("bplist00".utf8)
        let table = magic.count + heads.count + references.count * referenceWidth
        let offsetWidth = PropertyTreeWriter.width(of: UInt64(table))
        var bytes = magic
        bytes.reserveCapacity(table + ends.count * offsetWidth + 32)
        var start = 0
        for (end, part) in zip(ends.lazy.map(Int.init), parts) {
            bytes += heads[start..<end]
            for reference in references[Int(part.lowerBound)..<Int(part.upperBound)] {
                Self.append(UInt64(reference), width: referenceWidth, to: &bytes)
            }
            start = end
        }
        var offset = magic.count
        start = 0
        for (end, part) in zip(ends.lazy.map(Int.init), parts) {
            Self.append(UInt64(offset), width: offsetWidth, to: &bytes)
            offset += end - start + part.count * referenceWidth
            start = end
        }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(referenceWidth)]
        bytes +=
            bigEndian(UInt64(ends.count), width: 8) + bigEndian(0, width: 8) + bigEndian(UInt64(table), width: 8)
        return bytes
    }

    private static func width(of value: UInt64) -> Int {
        switch value {
        case 0...0xFF: 1
        case 0...0xFFFF: 2
        case 0...0xFFFF_FFFF: 4
        default: 8
        }
    }

    private func bigEndian(_ value: UInt64, width: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        Self.append(value, width: width, to: &bytes)
        return bytes
    }

    private static func append(_ value: UInt64, width: Int, to bytes: inout [UInt8]) {
        for place in (0..<width).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * place))) }
    }
}
