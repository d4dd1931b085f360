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
        var reading = Reading(try PropertyList(bytes), bytes: bytes.count)
        self = try reading.tree(reading.list.top, depth: 0)
    }

    /// The binary property list: equal trees give equal bytes.
    package var binary: [UInt8] { PropertyTreeWriter.binary(self) }

    /// One reading of a list.
    private struct Reading {
        let list: PropertyList
        /// References that may still be followed.
        ///
        /// Each takes a byte at least where it stands, and no writer shares collections: a sound list has fewer
        /// references than bytes, while one that shares them could be made to unfold without end.
        private var visits: Int
        /// Texts and data, which are shared: each is held once.
        private var leaves: [Int: PropertyTree] = [:]

        init(_ list: PropertyList, bytes: Int) {
            self.list = list
            visits = bytes
        }

        mutating func tree(_ reference: Int, depth: Int) throws(FerryError) -> PropertyTree {
            guard depth < depthLimit else { throw FerryError(.badArchive, "A property list nests too deeply.") }
            visits -= 1
            guard visits >= 0 else {
                throw PropertyList.damaged("its collections refer to each other more often than a sound one's do")
            }
            if let leaf = leaves[reference] { return leaf }
            switch try list.value(at: reference) {
            case .null: return .null
            case .bool(let value): return .bool(value)
            case .integer(let value): return .integer(value)
            case .real(let value): return .real(value)
            case .date(let value): return .date(value)
            case .data(let value): return keep(.data(value), reference)
            case .string(let value): return keep(.string(value), reference)
            case .uid(let value): return .uid(value)
            case .array(let references): return .array(try elements(references, depth: depth))
            case .set(let references): return .set(try elements(references, depth: depth))
            case .dictionary(let keys, let values):
                var dictionary: [String: PropertyTree] = [:]
                for (key, value) in zip(keys, values) {
                    guard let name = try tree(key, depth: depth + 1).string else {
                        throw PropertyList.damaged("a key is no text")
                    }
                    dictionary[name] = try tree(value, depth: depth + 1)
                }
                return .dictionary(dictionary)
            }
        }

        private mutating func keep(_ leaf: PropertyTree, _ reference: Int) -> PropertyTree {
            leaves[reference] = leaf
            return leaf
        }

        private mutating func elements(
            _ references: PropertyListValue.References, depth: Int
        ) throws(FerryError) -> [PropertyTree] {
            var elements: [PropertyTree] = []
            for reference in references { elements.append(try tree(reference, depth: depth + 1)) }
            return elements
        }
    }
}
