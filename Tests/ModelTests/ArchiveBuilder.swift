/// Writes small keyed archives for tests, valid and invalid ones.
///
/// Objects are added in any order and refer to each other by their UIDs, so that cycles are possible.
struct ArchiveBuilder {
    /// A value of a binary property list.
    indirect enum Node {
        case bool(Bool)
        case integer(Int64)
        case real(Double)
        case string(String)
        case data([UInt8])
        case uid(Int)
        case array([Node])
        case dictionary([(String, Node)])
    }

    private(set) var objects: [Node] = [.string("$null")]

    /// Adds an object and returns its UID.
    mutating func add(_ node: Node) -> Int {
        objects.append(node)
        return objects.count - 1
    }

    /// Replaces an object.
    mutating func replace(_ uid: Int, by node: Node) { objects[uid] = node }

    /// Adds the description of a class.
    mutating func addClass(_ names: String...) -> Node {
        .uid(
            add(
                .dictionary([
                    ("$classname", .string(names[0])), ("$classes", .array((names + ["NSObject"]).map { .string($0) })),
                ])))
    }

    func archive(root: Int) -> [UInt8] {
        Self.propertyList(
            .dictionary([
                ("$archiver", .string("NSKeyedArchiver")), ("$version", .integer(100_000)),
                ("$objects", .array(objects)), ("$top", .dictionary([("root", .uid(root))])),
            ]))
    }

    /// The bytes of a binary property list; references and offsets have two and four bytes.
    static func propertyList(_ root: Node) -> [UInt8] {
        var encoded: [[UInt8]] = []
        let top = encode(root, into: &encoded)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in encoded {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += bigEndian(offset, width: 4) }
        bytes += [0, 0, 0, 0, 0, 0, 4, 2]
        bytes += bigEndian(encoded.count, width: 8) + bigEndian(top, width: 8) + bigEndian(table, width: 8)
        return bytes
    }

    static func bigEndian(_ number: Int, width: Int) -> [UInt8] {
        (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * (width - 1 - $0))) }
    }

    private static func encode(_ node: Node, into objects: inout [[UInt8]]) -> Int {
        let position = objects.count
        objects.append([])
        switch node {
        case .bool(let flag): objects[position] = [flag ? 9 : 8]
        case .integer(let number): objects[position] = [0x13] + bigEndian(Int(number), width: 8)
        case .real(let number):
            objects[position] = [0x23] + bigEndian(Int(bitPattern: UInt(number.bitPattern)), width: 8)
        case .uid(let uid): objects[position] = [0x81] + bigEndian(uid, width: 2)
        case .data(let bytes): objects[position] = marker(0x40, count: bytes.count) + bytes
        case .string(let text):
            if text.utf8.allSatisfy({ $0 < 0x80 }) {
                objects[position] = marker(0x50, count: text.utf8.count) + Array(text.utf8)
            } else {
                let units = Array(text.utf16)
                objects[position] = marker(0x60, count: units.count) + units.flatMap { bigEndian(Int($0), width: 2) }
            }
        case .array(let nodes):
            let references = nodes.map { encode($0, into: &objects) }
            objects[position] = marker(0xA0, count: nodes.count) + references.flatMap { bigEndian($0, width: 2) }
        case .dictionary(let entries):
            let keys = entries.map { encode(.string($0.0), into: &objects) }
            let values = entries.map { encode($0.1, into: &objects) }
            objects[position] =
                marker(0xD0, count: entries.count) + (keys + values).flatMap { bigEndian($0, width: 2) }
        }
        return position
    }

    private static func marker(_ type: UInt8, count: Int) -> [UInt8] {
        count < 15 ? [type | UInt8(count)] : [type | 15, 0x12] + bigEndian(count, width: 4)
    }
}
