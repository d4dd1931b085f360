internal import Ferry

/// Writes one manual page in the language mdoc(7).
struct Mdoc {
    struct Item {
        /// Words of a macro's line.
        var label: String
        var text: String
    }

    /// Lines of text that are longer are hard to edit, says `mandoc -Tlint`.
    private static let widest = 78
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    private var lines: [String]

    init(title: String, summary: String) {
        let date = FerryVersion.date
        lines = [
            ".\\\" Made by: ferry manual", ".Dd \(Self.months[date.month - 1]) \(date.day), \(date.year)",
            ".Dt \(title.uppercased()) \(Manual.section)", ".Os \"Ferry \(FerryVersion.text)\"", ".Sh NAME",
            ".Nm \(title)",
            ".Nd \(Self.escaped(summary))",
        ]
    }

    var page: String { lines.joined(separator: "\n") }

    mutating func section(_ name: String) {
        endSection()
        lines.append(".Sh \(name)")
    }

    /// What ends a section needs no space behind it.
    private mutating func endSection() { if lines.last == ".Pp" { lines.removeLast() } }

    /// A line that begins with a macro, made of words that hold no sign of the language.
    mutating func macro(_ words: String) { lines.append("." + words) }

    /// Sentences, each from a line of its own on, as the language wants them.
    mutating func text(_ text: String) {
        for sentence in Self.sentences(text) {
            lines += TextWrap.paragraphs(sentence, width: Self.widest).map(Self.escaped)
        }
    }

    /// Paragraphs: one for each line of the text.
    mutating func paragraph(_ text: String) {
        for (index, part) in text.split(separator: "\n").enumerated() {
            if index > 0 { macro("Pp") }
            self.text(String(part))
        }
        macro("Pp")
    }

    mutating func list(_ items: [Item]) {
        macro("Bl -tag -width Ds")
        for item in items {
            macro("It \(item.label)")
            text(item.text)
        }
        macro("El")
        macro("Pp")
    }

    mutating func example(_ line: String) {
        macro("Dl \(Self.escaped(line))")
    }

    mutating func references(_ pages: [String]) {
        for (index, page) in pages.sorted().enumerated() {
            macro("Xr \(page) \(Manual.section)" + (index + 1 < pages.count ? " ," : ""))
        }
    }

    static func notation(of option: Syntax.Option, isListed: Bool) -> String {
        let letter = isListed ? option.letter.map { "Fl \($0.dropFirst()) , " } ?? "" : ""
        let value = option.kind == .flag ? "" : " Ar " + quoted(option.placeholder)
        return "\(letter)Fl Fl \(option.name.dropFirst(2))\(value)"
    }

    private static func sentences(_ text: String) -> [String] {
        var sentences: [String] = []
        var sentence = ""
        for word in text.split(whereSeparator: \.isWhitespace) {
            sentence += (sentence.isEmpty ? "" : " ") + word
            if word.hasSuffix(".") {
                sentences.append(sentence)
                sentence = ""
            }
        }
        return sentence.isEmpty ? sentences : sentences + [sentence]
    }

    private static func quoted(_ word: String) -> String { "\"\(escaped(word))\"" }

    /// A text without what the language reads as its own signs.
    private static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("--", with: "\\-\\-")
            .replacing("\"", with: "\\(dq")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
