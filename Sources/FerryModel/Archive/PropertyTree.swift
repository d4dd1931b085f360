package import FerryBase

/// A property list held as a value, for small lists and for what is to be written.
package indirect enum PropertyTree: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// Seconds since 2001-01-01 UTC.
    case date(Double)
    case data([UInt8])
    case string(String)
    case uid(Int)
    case array([PropertyTree])
    case set([PropertyTree])
    case dictionary([String: PropertyTree])

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var data: [UInt8]? { if case .data(let value) = self { value } else { nil } }
    package var array: [PropertyTree]? { if case .array(let value) = self { value } else { nil } }
    package var dictionary: [String: PropertyTree]? { if case .dictionary(let value) = self { value } else { nil } }

    /// Metadata nests three levels; what an app adds is not much deeper.
    private static let depthLimit = 64

    /// Reads a binary property list.
    ///
    /// - Throws: `badArchive` when the bytes are none, or are damaged.
    package init(binary bytes: [UInt8]) throws(FerryError) {
        let list = try PropertyList(bytes)
        self = try PropertyTree.read(list, list.top, depth: 0)
    }

    /// The binary property list: equal trees give equal bytes.
    package var binary: [UInt8] { PropertyTreeWriter.binary(self) }

    private static func read(_ list: PropertyList, _ reference: Int, depth: Int) throws(FerryError) -> PropertyTree {
        guard depth < depthLimit else { throw FerryError(.badArchive, "A property list nests too deeply.") }
        switch try list.value(at: reference) {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .real(let value): return .real(value)
        case .date(let value): return .date(value)
        case .data(let value): return .data(value)
        case .string(let value): return .string(value)
        case .uid(let value): return .uid(value)
        case .array(let references): return .array(try elements(list, references, depth: depth))
        case .set(let references): return .set(try elements(list, references, depth: depth))
        case .dictionary:
            var dictionary: [String: PropertyTree] = [:]
            for (key, value) in try list.entries(at: reference) {
                dictionary[key] = try read(list, value, depth: depth + 1)
            }
            return .dictionary(dictionary)
        }
    }

    private static func elements(
        _ list: PropertyList, _ references: PropertyListValue.References, depth: Int
    ) throws(FerryError) -> [PropertyTree] {
        var elements: [PropertyTree] = []
        for reference in references { elements.append(try read(list, reference, depth: depth + 1)) }
        return elements
    }
}
