internal import FerryBase

struct ManualCommand: Command {
    static let syntax = Syntax(
        "manual", summary: "Prints a manual page, or writes all of them into a folder.",
        discussion: "Packages bring the pages along: man ferry, man ferry-migrate. By hand: the folder man1 of "
            + "~/.local/share/man is a place where man looks for them.",
        operands: [
            .init("COMMAND", .optional, "The command of the page. Default: the page about all of ferry."),
            .init("PART", .optional, "Its second word."),
        ],
        options: [.value("--output", "DIR", "Write every page into this folder instead.")],
        example: "ferry manual migrate | man -l -")

    private let name: String
    private let folder: String?

    init(from arguments: Arguments) throws(FerryError) {
        name = arguments.operands.joined(separator: " ")
        folder = arguments.value("--output")
        if folder != nil, !name.isEmpty {
            throw arguments.wrong("--output writes every page.", "Leave out \"\(name)\", or --output.")
        }
    }

    func run(on console: Console) throws -> ExitCode {
        let manual = Manual(FerryCommand.table)
        if let folder { return try write(manual.pages, into: folder, on: console) }
        let wanted = name.isEmpty ? Manual.mainName : Manual.pageName(ofCommand: name)
        guard let page = manual.pages.first(where: { $0.name == wanted }) else {
            let nearest = NearNames.near(to: name, among: FerryCommand.commandNames).first
            throw FerryError(
                .usage, "There is no manual page for \(name).",
                remedy: nearest.map { "Did you mean \($0)?" } ?? "The commands are listed by: ferry help")
        }
        console.result([("page", .string(page.fileName)), ("text", .string(page.text + "\n"))], verbatim: page.text)
        return .success
    }

    private func write(_ pages: [Manual.Page], into folder: String, on console: Console) throws -> ExitCode {
        let files = FileLayer()
        if try !files.exists(folder) { try files.createDirectory(folder) }
        for page in pages { try files.replace("\(folder)/\(page.fileName)", with: Array((page.text + "\n").utf8)) }
        let names = pages.map(\.fileName)
        console.result(
            [("folder", .string(folder)), ("pages", .strings(names))], text: ["\(names.count) pages in \(folder)"])
        return .success
    }
}
