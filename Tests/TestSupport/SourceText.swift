internal import Foundation

/// The string literals of Swift source, for tests of its texts.
package struct SourceText {
    /// One string literal, or a part of one between interpolations.
    package struct Literal: Sendable, Hashable {
        package var file: String
        package var line: Int
        package var text: String
        /// Whether an interpolation follows.
        package var goesOn = false
    }

    package var literals: [Literal] = []

    package init(_ source: String, file: String = "") {
        var reader = Reader(characters: Array(source.unicodeScalars), file: file)
        reader.code(until: nil)
        literals = reader.literals
    }

    /// Returns every literal of the Swift files in a folder of the package, in the order of the files' names.
    package static func literals(below folder: String) throws -> [Literal] {
        try files(below: folder).flatMap { file in
            SourceText(try String(contentsOfFile: file, encoding: .utf8), file: file).literals
        }
    }

    package static func files(below folder: String) throws -> [String] {
        let root = Fixtures.packageRoot + "/" + folder
        guard let found = FileManager.default.enumerator(atPath: root) else { return [] }
        return found.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { root + "/" + $0 }
    }
}

/// Scans code, comments and literals; an interpolation is code.
private struct Reader {
    let characters: [Unicode.Scalar]
    let file: String
    var place = 0
    var line = 1
    var literals: [SourceText.Literal] = []

    private func starts(with text: String) -> Bool {
        let text = Array(text.unicodeScalars)
        return place + text.count <= characters.count && Array(characters[place..<place + text.count]) == text
    }

    private mutating func skip(_ count: Int = 1) {
        for _ in 0..<count where place < characters.count {
            if characters[place] == "\n" { line += 1 }
            place += 1
        }
    }

    /// Reads up to the parenthesis that ends an interpolation, or to the end.
    mutating func code(until end: Unicode.Scalar?) {
        var depth = 0
        while place < characters.count {
            if starts(with: "//") {
                while place < characters.count, characters[place] != "\n" { skip() }
            } else if starts(with: "/*") {
                while place < characters.count, !starts(with: "*/") { skip() }
                skip(2)
            } else if let pounds = poundsOfLiteral {
                literal(pounds: pounds)
            } else {
                if characters[place] == "(" { depth += 1 }
                if characters[place] == ")" {
                    if depth == 0, end == ")" { return }
                    depth -= 1
                }
                skip()
            }
        }
    }

    /// The number of number signs before the quotation mark at this place; nil where no literal begins.
    private var poundsOfLiteral: Int? {
        var ahead = place
        while ahead < characters.count, characters[ahead] == "#" { ahead += 1 }
        return ahead < characters.count && characters[ahead] == "\"" ? ahead - place : nil
    }

    private mutating func literal(pounds: Int) {
        let sign = String(repeating: "#", count: pounds)
        skip(pounds)
        let quote = starts(with: "\"\"\"") ? "\"\"\"" : "\""
        skip(quote.count)
        var text = "", begin = line
        func isDone(_ reader: Self) -> Bool {
            reader.place >= reader.characters.count || reader.starts(with: quote + sign)
        }
        while !isDone(self) {
            if starts(with: "\\" + sign + "(") {
                literals.append(.init(file: file, line: begin, text: text, goesOn: true))
                skip(2 + pounds)
                code(until: ")")
                skip()
                (text, begin) = ("", line)
            } else if starts(with: "\\" + sign) {
                skip(1 + pounds)
                text.unicodeScalars.append(characters[min(place, characters.count - 1)])
                skip()
            } else {
                text.unicodeScalars.append(characters[place])
                skip()
            }
        }
        literals.append(.init(file: file, line: begin, text: text))
        skip(quote.count + pounds)
    }
}
