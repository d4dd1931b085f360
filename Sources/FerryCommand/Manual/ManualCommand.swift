internal import Ferry
internal import FerryBase

struct ManualCommand: Command {
    static let name = "manual"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (name, pages) = (arguments.operands.joined(separator: " "), ManualPage.all)
        if let folder = arguments.value("--output") {
            guard name.isEmpty else {
                throw arguments.wrong("--output writes every page.", "Leave out \"\(name)\", or --output.")
            }
            let files = FileLayer()
            try WritePlace().check(folder + "/page")
            if try !files.exists(folder) { try files.createDirectory(folder) }
            for page in pages { try files.replace("\(folder)/\(page.fileName)", with: Array(page.text.utf8)) }
            console.result(
                ["folder": folder, "pages": pages.map(\.fileName)], text: ["\(pages.count) pages in \(folder)"])
            return .success
        }
        let wanted = ManualPage.name(ofCommand: name)
        guard let page = pages.first(where: { $0.name == wanted }) else {
            throw HelpText.unknown("There is no manual page for \(name).", name)
        }
        console.result(["page": page.fileName, "text": page.text], verbatim: String(page.text.dropLast()))
        return .success
    }
}

struct ManualPage {
    let name: String
    let text: String

    var fileName: String { "\(name).1" }

    static var all: [ManualPage] {
        let names = Syntax.table.map { name(ofCommand: $0.name) }
        let about = "migrate Core Data stores that are too large for memory"
        return [ManualPage("ferry", about, HelpText.overview(width: width), names)]
            + zip(Syntax.table, names).map { syntax, own in
                let first = "ferry-\(syntax.name.prefix { $0 != " " })-"
                let family = names.filter { $0.hasPrefix(first) && $0 != own }
                return ManualPage(
                    own, syntax.summary, HelpText.command(syntax, isAll: true, width: width), ["ferry"] + family)
            }
    }

    static func name(ofCommand name: String) -> String {
        name.isEmpty ? "ferry" : "ferry-" + name.replacing(" ", with: "-")
    }

    private static let width = 78

    private init(_ name: String, _ summary: String, _ lines: [String], _ references: [String]) {
        let (date, month, day) = (FerryVersion.date, FerryVersion.date.month, FerryVersion.date.day)
        self.name = name
        text = Template.manual.filled([
            "NAME": name.uppercased(), "name": name, "version": FerryVersion.text,
            "date": "\(date.year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)",
            "summary": Self.escaped(summary.hasSuffix(".") ? String(summary.dropLast()) : summary),
            "body": lines.map { Self.escaped(String(Emphasis.split($0).line)) }.joined(separator: "\n"),
            "references": references.sorted().map { "\($0)(1)" }.joined(separator: ", "),
        ])
    }

    /// A line with the special characters of man(7) escaped; hyphens stay hyphens, so that an option can be copied.
    private static func escaped(_ line: String) -> String {
        let text = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
