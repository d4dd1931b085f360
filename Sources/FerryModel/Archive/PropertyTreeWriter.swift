/// Writes a property list in binary form; equal trees give equal bytes.
///
/// Foundation's writer takes dictionaries in the order of their hashing, which differs from process to process, while a
/// resumed run must write what an uninterrupted one writes. Keys go in code unit order here.
struct PropertyTreeWriter {
    private enum Object {
        case leaf([UInt8])
        /// A marker with references to objects.
        case collection(marker: UInt8, count: Int, references: [Int])
    }

    private var objects: [Object] = []
    /// Texts and numbers that are there already: keys repeat in every object of an archive.
    private var leaves: [[UInt8]: Int] = [:]

    static func binary(_ tree: PropertyTree) -> [UInt8] {
        var writer = PropertyTreeWriter()
        let top = writer.add(tree)
        precondition(top == 0, "The topmost object is the first one.")
        return writer.encoded()
    }

    // MARK: Objects

    private mutating func add(_ tree: PropertyTree) -> Int {
        let position = objects.count
        switch tree {
        case .array, .set, .dictionary: objects.append(.leaf([]))
        default:
            let leaf = self.leaf(tree)
            if let known = leaves[leaf] { return known }
            leaves[leaf] = position
            objects.append(.leaf(leaf))
            return position
        }
        switch tree {
        case .array(let elements): objects[position] = collection(0xA0, elements.map { add($0) })
        case .set(let elements): objects[position] = collection(0xC0, elements.map { add($0) })
        case .dictionary(let entries):
            let sorted = entries.sorted { codeUnitOrder($0.key, $1.key) }
            let keys = sorted.map { add(.string($0.key)) }
            let values = sorted.map { add($0.value) }
            objects[position] = .collection(marker: 0xD0, count: sorted.count, references: keys + values)
        default: break
        }
        return position
    }

    private func collection(_ marker: UInt8, _ references: [Int]) -> Object {
        .collection(marker: marker, count: references.count, references: references)
    }

    private func leaf(_ tree: PropertyTree) -> [UInt8] {
        switch tree {
        case .bool(let value): [value ? 0x09 : 0x08]
        case .integer(let value): integer(value)
        case .real(let value): [0x23] + bigEndian(value.bitPattern, width: 8)
        case .date(let value): [0x33] + bigEndian(value.bitPattern, width: 8)
        case .data(let bytes): header(0x40, bytes.count) + bytes
        case .string(let text): string(text)
        case .uid(let value): uid(value)
        case .null, .array, .set, .dictionary: [0x00]
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

    private func encoded() -> [UInt8] {
        let referenceWidth = PropertyTreeWriter.width(of: UInt64(objects.count))
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .leaf(let leaf): bytes += leaf
            case .collection(let marker, let count, let references):
                bytes += header(marker, count)
                for reference in references { bytes += bigEndian(UInt64(reference), width: referenceWidth) }
            }
        }
        let table = bytes.count
        let offsetWidth = PropertyTreeWriter.width(of: UInt64(table))
        for offset in offsets { bytes += bigEndian(UInt64(offset), width: offsetWidth) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(referenceWidth)]
        bytes +=
            bigEndian(UInt64(objects.count), width: 8) + bigEndian(0, width: 8) + bigEndian(UInt64(table), width: 8)
        return bytes
    }

    /// 1, 2, 4 or 8: the widths that a number can have here.
    private static func width(of value: UInt64) -> Int {
        switch value {
        case 0...0xFF: 1
        case 0...0xFFFF: 2
        case 0...0xFFFF_FFFF: 4
        default: 8
        }
    }

    private func bigEndian(_ value: UInt64, width: Int) -> [UInt8] {
        (0..<width).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (width - 1 - $0))) }
    }
}
