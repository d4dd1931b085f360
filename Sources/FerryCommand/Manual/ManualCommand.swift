internal import Ferry
internal import FerryBase

struct ManualCommand: Command {
    static let syntax = Syntax(
        "manual", summary: "Print a manual page, or write all of them into a folder.",
        discussion: "Packages install the pages: man ferry, man ferry-migrate. Without a package, write them to "
            + "~/.local/share/man/man1, where man finds them.",
        operands: [
            .init("COMMAND", .optional, "The command. Default: the page of ferry itself."),
            .init("PART", .optional, "Its second word."),
        ],
        options: [.value("--output", "DIR", "Write every page into this folder.")],
        example: "ferry manual migrate | man -l -")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (name, pages) = (arguments.operands.joined(separator: " "), Manual.pages(FerryCommand.table))
        if let folder = arguments.value("--output") {
            guard name.isEmpty else {
                throw arguments.wrong("--output writes every page.", "Leave out \"\(name)\", or --output.")
            }
            let files = FileLayer()
            try WritePlace().check(folder + "/page")
            if try !files.exists(folder) { try files.createDirectory(folder) }
            for page in pages {
                try files.replace("\(folder)/\(page.fileName)", with: Array((page.text + "\n").utf8))
            }
            console.result(
                ["folder": folder, "pages": pages.map(\.fileName)], text: ["\(pages.count) pages in \(folder)"])
            return .success
        }
        let wanted = name.isEmpty ? Manual.mainName : Manual.pageName(ofCommand: name)
        guard let page = pages.first(where: { $0.name == wanted }) else {
            throw HelpText.unknown("There is no manual page for \(name).", name)
        }
        console.result(["page": page.fileName, "text": page.text + "\n"], verbatim: page.text)
        return .success
    }
}

/// The manual pages, from the table of commands: one about all of `ferry`, one for each command.
enum Manual {
    struct Page {
        /// The name without the section.
        let name: String
        let text: String

        var fileName: String { "\(name).\(Manual.section)" }
    }

    static let mainName = "ferry"
    static let section = 1

    static func pages(_ table: [Syntax]) -> [Page] { [mainPage(table)] + table.map { page(of: $0, in: table) } }

    static func pageName(ofCommand name: String) -> String { "\(mainName)-" + name.replacing(" ", with: "-") }

    private static func mainPage(_ table: [Syntax]) -> Page {
        var mdoc = Mdoc(title: mainName, summary: "migrate Core Data stores that are too large for memory")
        mdoc.section("SYNOPSIS")
        mdoc.macro("Nm")
        mdoc.macro("Ar command")
        mdoc.macro("Op Ar options")
        mdoc.section("DESCRIPTION")
        mdoc.paragraph(
            """
            Ferry migrates Core Data SQLite stores of any size on Linux and macOS, without Apple's framework. It takes a \
            store, its model versions and its mapping models, and produces a store of the new version, laid out as Core Data \
            does it.
            """)
        mdoc.text("The commands:")
        mdoc.list(
            table.map { syntax in
                (label: "Xr \(pageName(ofCommand: syntax.name)) \(section)", text: syntax.summary)
            })
        mdoc.section("EXIT STATUS")
        mdoc.list(ExitCode.allCases.map { (label: "\($0.rawValue)", text: $0.meaning) })
        mdoc.section("EXAMPLES")
        mdoc.text("To see a complete migration on generated data:")
        mdoc.example("ferry demo")
        mdoc.section("SEE ALSO")
        mdoc.references(table.map { pageName(ofCommand: $0.name) })
        return Page(name: mainName, text: mdoc.page)
    }

    private static func page(of syntax: Syntax, in table: [Syntax]) -> Page {
        let name = pageName(ofCommand: syntax.name)
        var mdoc = Mdoc(title: name, summary: lowercasedFirst(syntax.summary))
        mdoc.section("SYNOPSIS")
        mdoc.macro("Nm \(mainName)")
        mdoc.macro("Cm \(syntax.name)")
        for operand in syntax.operands {
            switch operand.count {
            case .one: mdoc.macro("Ar \(operand.name)")
            case .optional: mdoc.macro("Op Ar \(operand.name)")
            case .several: mdoc.macro("Ar \(operand.name) ...")
            }
        }
        for option in syntax.options where option.isRequired { mdoc.macro(Mdoc.notation(of: option, isListed: false)) }
        mdoc.macro("Op Ar options")
        mdoc.section("DESCRIPTION")
        mdoc.paragraph(syntax.discussion)
        if !syntax.operands.isEmpty {
            mdoc.text("Operands:")
            mdoc.list(syntax.operands.map { (label: "Ar \($0.name)", text: $0.summary) })
        }
        for (title, options) in syntax.groupedOptions?.map({ ($0.group.rawValue, $0.options) })
            ?? [("Options", syntax.options)]
        {
            mdoc.text("\(title):")
            mdoc.list(options.map { (label: Mdoc.notation(of: $0, isListed: true), text: $0.summary) })
        }
        mdoc.section("EXIT STATUS")
        mdoc.text("As in")
        mdoc.macro("Xr \(mainName) \(section) .")
        mdoc.section("EXAMPLES")
        mdoc.example(syntax.example)
        mdoc.section("SEE ALSO")
        let family = table.filter { $0.nameWords.first == syntax.nameWords.first && $0.name != syntax.name }
        mdoc.references([mainName] + family.map { pageName(ofCommand: $0.name) })
        return Page(name: name, text: mdoc.page)
    }

    /// A summary in the form for the text after a name and a dash.
    private static func lowercasedFirst(_ text: String) -> String {
        let text = text.hasSuffix(".") ? String(text.dropLast()) : text
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

/// A manual page in the language mdoc(7).
struct Mdoc {
    /// The longest text line for which `mandoc -Tlint` does not warn.
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
        // A section does not end with space.
        if lines.last == ".Pp" { lines.removeLast() }
        lines.append(".Sh \(name)")
    }

    /// Adds a line that begins with a macro; the words hold no special characters of mdoc.
    mutating func macro(_ words: String) { lines.append("." + words) }

    /// Adds sentences, each on a new line as mdoc requires.
    mutating func text(_ text: String) {
        for sentence in Self.sentences(text) {
            lines += TextWrap.paragraphs(sentence, width: Self.widest).map(Self.escaped)
        }
    }

    /// Adds a paragraph for each line of the text.
    mutating func paragraph(_ text: String) {
        for (index, part) in text.split(separator: "\n").enumerated() {
            if index > 0 { macro("Pp") }
            self.text(String(part))
        }
        macro("Pp")
    }

    /// Adds items; a label is the words of a macro's line.
    mutating func list(_ items: [(label: String, text: String)]) {
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
        let value = option.kind == .flag ? "" : " Ar \"\(escaped(option.placeholder))\""
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

    /// A text with the special characters of mdoc escaped.
    private static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("--", with: "\\-\\-")
            .replacing("\"", with: "\\(dq")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
