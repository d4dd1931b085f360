internal import FerryBase

/// A JSON value, parsed in the plainest way: one pass over the bytes, strict by RFC 8259, into a tree.
package indirect enum PlainJSON: Sendable, Hashable {
    case null
    case boolean(Bool)
    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)
    case real(Double)
    /// The decoded UTF-8.
    case string([UInt8])
    /// Elements, and the bytes as they stand in the document.
    case array([PlainJSON], text: ArraySlice<UInt8>)
    /// Members in their order, and the bytes as they stand in the document.
    case object([Member], text: ArraySlice<UInt8>)

    package struct Member: Sendable, Hashable {
        package var name: [UInt8]
        package var value: PlainJSON
    }

    /// Why a text is no JSON; the place is an offset in bytes.
    package struct Invalid: Error, Sendable { package var offset: Int }

    /// Parses a whole document.
    ///
    /// - Throws: ``Invalid``.
    package init(_ bytes: [UInt8]) throws(Invalid) {
        // Checked first, so that the parser may look at single bytes.
        guard String(utf8: bytes) != nil else { throw Invalid(offset: 0) }
        var parser = PlainJSONParser(bytes: bytes)
        self = try parser.document()
    }

    /// The value of a member; the last one where a name stands twice.
    package func member(_ name: String) -> PlainJSON? {
        guard case .object(let members, _) = self else { return nil }
        let name = Array(name.utf8)
        return members.last { $0.name == name }?.value
    }

    /// The text of a container as it stands in the document; empty for scalars.
    package var text: [UInt8] {
        switch self {
        case .array(_, let text), .object(_, let text): Array(text)
        default: []
        }
    }
}
