/// An XML tokenizer for models, mapping models and property lists.
///
/// Safe for untrusted files; Foundation's parser traps on invalid UTF-8 and on empty processing instructions. The
/// tokenizer does not recurse, limits depth and attributes, rejects entity declarations, and returns long texts in
/// pieces. Namespace prefixes stay part of the names.
package struct XMLTokenizer {
    package enum Token: Sendable {
        case start(String, [String: String])
        /// The next token may continue the text.
        case text(String)
        case end(String)
    }

    private static let textLimit = 64 << 10
    private static let nameLimit = 1_000
    private static let attributeLimit = 256

    private let depthLimit: Int
    private let fill: () throws(FerryError) -> [UInt8]
    private let failure: (_ reason: String, _ line: Int) -> FerryError
    private var buffer: [UInt8] = []
    private var position = 0
    /// The start of a character that may go on in the next bytes of `fill`.
    private var cut: [UInt8] = []
    private var isAtEnd = false
    private var line = 1
    /// The line on which the last tag began.
    package private(set) var tagLine = 1
    private var open: [String] = []
    private var hasRoot = false
    /// True after `<a/>`: the next token is its end.
    private var isEndDue = false
    private var isInCharacterData = false

    /// `failure` makes the error of invalid XML; `fill` returns the next bytes, and none at the end.
    package init(
        depthLimit: Int, failure: @escaping (_ reason: String, _ line: Int) -> FerryError,
        fill: @escaping () throws(FerryError) -> [UInt8]
    ) {
        self.depthLimit = depthLimit
        self.failure = failure
        self.fill = fill
    }

    /// Returns the next token, or nil at the end of the text.
    ///
    /// - Throws: The errors of `fill`, and the error of `failure` for invalid XML.
    package mutating func next() throws(FerryError) -> Token? {
        if isEndDue, let name = open.popLast() {
            isEndDue = false
            return .end(name)
        }
        while true {
            if isInCharacterData { return .text(try characterData()) }
            guard let byte = try peek() else { break }
            if byte != UInt8(ascii: "<") {
                let text = try text()
                if !open.isEmpty { return .text(text) }
                guard text.utf8.allSatisfy({ Self.isSpace($0) || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }) else {
                    throw problem("there is text outside its elements")
                }
                continue
            }
            tagLine = line
            _ = try take()
            switch try peek() {
            case UInt8(ascii: "/"): return .end(try endTag())
            case UInt8(ascii: "?"): try instruction()
            case UInt8(ascii: "!"): try declaration()
            default: return try startTag()
            }
        }
        guard hasRoot, open.isEmpty else { throw problem("it is truncated, or has no element") }
        return nil
    }

    package func problem(_ reason: String) -> FerryError { failure(reason, line) }

    // MARK: Tags

    private mutating func startTag() throws(FerryError) -> Token {
        guard !hasRoot || !open.isEmpty else { throw problem("it has several outermost elements") }
        guard open.count < depthLimit else { throw problem("its elements are nested too deep") }
        hasRoot = true
        let name = try name()
        var attributes: [String: String] = [:]
        while true {
            let hasSpace = try skipSpace()
            let byte = try peek()
            if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") {
                isEndDue = byte == UInt8(ascii: "/")
                try pass(isEndDue ? "/>" : ">")
                open.append(name)
                return .start(name, attributes)
            }
            guard hasSpace, attributes.count < Self.attributeLimit else {
                throw problem("a tag is not well-formed XML, or has too many attributes")
            }
            let key = try self.name()
            try skipSpace()
            try pass("=")
            try skipSpace()
            guard attributes.updateValue(try attributeValue(), forKey: key) == nil else {
                throw problem("an attribute appears twice")
            }
        }
    }

    private mutating func endTag() throws(FerryError) -> String {
        try pass("/")
        let name = try name()
        try skipSpace()
        try pass(">")
        guard open.popLast() == name else { throw problem("a tag does not end the element that it should") }
        return name
    }

    private mutating func name() throws(FerryError) -> String {
        var bytes: [UInt8] = []
        while let byte = try peek(), Self.isName(byte, isFirst: bytes.isEmpty), bytes.count <= Self.nameLimit {
            bytes.append(byte)
            position += 1
        }
        guard !bytes.isEmpty, bytes.count <= Self.nameLimit else { throw problem("a name is missing or too long") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func attributeValue() throws(FerryError) -> String {
        let quote = try peek()
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw problem("the value of an attribute is not in quotes")
        }
        _ = try take()
        var bytes: [UInt8] = []
        while let byte = try take() {
            switch byte {
            case quote: return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "<"): throw problem("the value of an attribute has no end")
            case UInt8(ascii: "&"): try reference(into: &bytes)
            // XML normalizes literal white space to a space.
            case UInt8(ascii: "\n"), UInt8(ascii: "\t"): bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        throw problem("it is truncated")
    }

    // MARK: Text

    private mutating func text() throws(FerryError) -> String {
        var bytes: [UInt8] = []
        while let byte = try peek(), byte != UInt8(ascii: "<") {
            // Only between two characters.
            if bytes.count >= Self.textLimit, byte & 0xC0 != 0x80 { break }
            if appendPlainRun(to: &bytes) { continue }
            guard let byte = try take() else { break }
            if byte == UInt8(ascii: "&") { try reference(into: &bytes) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the bytes up to the next special one at once, because texts are long.
    private mutating func appendPlainRun(to bytes: inout [UInt8]) -> Bool {
        let (end, lines) = buffer.withUnsafeBytes { buffer -> (Int, Int) in
            var (place, lines) = (position, 0)
            while place < buffer.count {
                let byte = buffer[place]
                if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") { break }
                if byte < 0x20 {
                    guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t") else { break }
                    if byte == UInt8(ascii: "\n") { lines += 1 }
                }
                place += 1
            }
            return (place, lines)
        }
        guard end > position else { return false }
        bytes += buffer[position..<end]
        position = end
        line += lines
        return true
    }

    private mutating func characterData() throws(FerryError) -> String {
        var bytes: [UInt8] = []
        while let next = try peek() {
            if bytes.count >= Self.textLimit, next & 0xC0 != 0x80, bytes.last != UInt8(ascii: "]") {
                return String(decoding: bytes, as: UTF8.self)
            }
            guard let byte = try take() else { break }
            bytes.append(byte)
            if byte == UInt8(ascii: ">"), bytes.count >= 3, bytes[bytes.count - 3..<bytes.count - 1] == [0x5D, 0x5D] {
                isInCharacterData = false
                return String(decoding: bytes.dropLast(3), as: UTF8.self)
            }
        }
        throw problem("it is truncated")
    }

    private mutating func reference(into bytes: inout [UInt8]) throws(FerryError) {
        var name = ""
        while let byte = try take(), byte != UInt8(ascii: ";"), name.utf8.count < 12 {
            name.unicodeScalars.append(Unicode.Scalar(byte))
        }
        let named: [String: UInt8] = ["lt": 0x3C, "gt": 0x3E, "amp": 0x26, "apos": 0x27, "quot": 0x22]
        if let byte = named[name] { return bytes.append(byte) }
        let isHexadecimal = name.hasPrefix("#x")
        guard name.hasPrefix("#"),
            let code = UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10),
            let scalar = Unicode.Scalar(code), code >= 0x20 || [0x9, 0xA, 0xD].contains(code), code & 0xFFFE != 0xFFFE
        else { throw problem("it refers to a character or an entity that does not exist") }
        bytes += Array(Character(scalar).utf8)
    }

    // MARK: Instructions and declarations

    private mutating func instruction() throws(FerryError) {
        var text: [UInt8] = []
        try pass("?")
        while let byte = try take() {
            if byte == UInt8(ascii: ">"), text.last == UInt8(ascii: "?") { return try checkEncoding(text) }
            // An XML declaration is shorter.
            if text.count > 256 { text.removeFirst(128) }
            text.append(byte)
        }
        throw problem("it is truncated")
    }

    private func checkEncoding(_ instruction: [UInt8]) throws(FerryError) {
        let text = String(decoding: instruction, as: UTF8.self).lowercased()
        guard text.hasPrefix("xml "), let key = text.split(separator: "encoding", maxSplits: 1).dropFirst().first else {
            return
        }
        guard key.contains("utf-8") || key.contains("utf8") || key.contains("ascii") else {
            throw problem("it is not UTF-8 text")
        }
    }

    private mutating func declaration() throws(FerryError) {
        try pass("!")
        switch try peek() {
        case UInt8(ascii: "-"):
            try pass("--")
            var dashes = 0
            while let byte = try take() {
                if byte == UInt8(ascii: ">"), dashes >= 2 { return }
                dashes = byte == UInt8(ascii: "-") ? dashes + 1 : 0
            }
            throw problem("it is truncated")
        case UInt8(ascii: "["):
            try pass("[CDATA[")
            guard !open.isEmpty else { throw problem("there is text outside its elements") }
            isInCharacterData = true
        default:
            try pass("DOCTYPE")
            guard !hasRoot else { throw problem("there is a document type declaration inside it") }
            try skipDocumentType()
        }
    }

    private mutating func skipDocumentType() throws(FerryError) {
        var quote: UInt8?
        while let byte = try take() {
            if let open = quote {
                if byte == open { quote = nil }
                continue
            }
            switch byte {
            case UInt8(ascii: ">"): return
            case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
            // Entities could expand a short file to a huge text.
            case UInt8(ascii: "["): throw problem("it declares XML entities, which such files do not use")
            default: break
            }
        }
        throw problem("it is truncated")
    }

    // MARK: Bytes

    private mutating func peek() throws(FerryError) -> UInt8? {
        while position == buffer.count, !isAtEnd {
            let piece = try fill()
            isAtEnd = piece.isEmpty
            buffer = cut + piece
            position = 0
            cut = isAtEnd ? [] : Array(buffer[buffer.endOfWholeCharacters...])
            buffer.removeLast(cut.count)
            guard String(utf8: buffer) != nil else { throw problem("it is not UTF-8 text") }
        }
        return position < buffer.count ? buffer[position] : nil
    }

    /// Reads the next byte; every form of line end is one `\n`.
    private mutating func take() throws(FerryError) -> UInt8? {
        guard var byte = try peek() else { return nil }
        position += 1
        if byte == UInt8(ascii: "\r") {
            byte = UInt8(ascii: "\n")
            if try peek() == UInt8(ascii: "\n") { position += 1 }
        }
        if byte == UInt8(ascii: "\n") { line += 1 }
        guard byte >= 0x20 || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t") else {
            throw problem("it contains a control character")
        }
        return byte
    }

    private mutating func pass(_ text: StaticString) throws(FerryError) {
        for offset in 0..<text.utf8CodeUnitCount {
            guard try take() == text.utf8Start[offset] else { throw problem("it is not well-formed XML") }
        }
    }

    @discardableResult
    private mutating func skipSpace() throws(FerryError) -> Bool {
        var hasSpace = false
        while let byte = try peek(), Self.isSpace(byte) {
            _ = try take()
            hasSpace = true
        }
        return hasSpace
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private static func isName(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), 0x80...0xFF:
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): !isFirst
        default: false
        }
    }
}
