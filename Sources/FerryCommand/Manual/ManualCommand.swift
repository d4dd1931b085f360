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
        let (name, pages) = (arguments.operands.joined(separator: " "), ManualPage.all(FerryCommand.table))
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
        let wanted = ManualPage.name(ofCommand: name)
        guard let page = pages.first(where: { $0.name == wanted }) else {
            throw HelpText.unknown("There is no manual page for \(name).", name)
        }
        console.result(["page": page.fileName, "text": page.text + "\n"], verbatim: page.text)
        return .success
    }
}

/// A manual page: the help in the language man(7).
struct ManualPage {
    /// The name without the section.
    let name: String
    let text: String

    var fileName: String { "\(name).1" }

    /// The page of `ferry` itself, and one for each command.
    static func all(_ table: [Syntax]) -> [ManualPage] {
        let names = table.map { name(ofCommand: $0.name) }
        let about = "migrate Core Data stores that are too large for memory"
        let overview =
            HelpText.overview(width: width)
            + ["", "Exit status:"] + ExitCode.allCases.map { "  \($0.rawValue)  \($0.meaning)" }
        return [ManualPage(name(ofCommand: ""), about, overview, names)]
            + zip(table, names).map { syntax, own in
                let family = names.filter { $0.hasPrefix("ferry-\(syntax.nameWords.first)-") && $0 != own }
                return ManualPage(
                    own, syntax.summary, HelpText.command(syntax, isAll: true, width: width), ["ferry"] + family)
            }
    }

    static func name(ofCommand name: String) -> String {
        name.isEmpty ? "ferry" : "ferry-" + name.replacing(" ", with: "-")
    }

    private static let width = 78

    private init(_ name: String, _ summary: String, _ lines: [String], _ references: [String]) {
        let date = FerryVersion.date
        let body = lines.map { Self.escaped(String(Emphasis.split($0).line)) }.joined(separator: "\n")
        self.name = name
        text = """
            .\\" Made by: ferry manual
            .TH \(name.uppercased()) 1 \(date.year)-\(Self.digits(date.month))-\(Self.digits(date.day)) "Ferry \(FerryVersion.text)"
            .SH NAME
            \(name) \\- \(Self.escaped(summary.hasSuffix(".") ? String(summary.dropLast()) : summary))
            .SH DESCRIPTION
            .nf
            \(body)
            .fi
            .SH SEE ALSO
            \(references.sorted().map { "\($0)(1)" }.joined(separator: ", "))
            """
    }

    private static func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// A line with the special characters of man(7) escaped; hyphens stay hyphens, so that an option can be copied.
    private static func escaped(_ line: String) -> String {
        let text = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
