internal import Ferry

/// The manual pages, made of the table of commands: one about all of `ferry`, one for each command.
struct Manual {
    struct Page {
        /// Without the section.
        let name: String
        let text: String

        var fileName: String { "\(name).\(Manual.section)" }
    }

    static let mainName = "ferry"
    static let section = 1

    let pages: [Page]

    init(_ table: [Syntax]) {
        pages = [Manual.mainPage(table)] + table.map { Manual.page(of: $0, in: table) }
    }

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
            Ferry migrates Core Data SQLite stores out of core, on Linux and macOS, without Apple's framework. It takes the \
            store, its model versions and its mapping models, and leaves a store of the new version, laid out as Core Data \
            lays it out.
            """)
        mdoc.text("The commands:")
        mdoc.list(
            table.map { syntax in
                Mdoc.Item(label: "Xr \(pageName(ofCommand: syntax.name)) \(section)", text: syntax.summary)
            })
        mdoc.section("EXIT STATUS")
        mdoc.list(ExitCode.allCases.map { Mdoc.Item(label: "\($0.rawValue)", text: $0.meaning) })
        mdoc.section("EXAMPLES")
        mdoc.text("All of it on generated data, explained as it goes:")
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
            mdoc.list(syntax.operands.map { Mdoc.Item(label: "Ar \($0.name)", text: $0.summary) })
        }
        mdoc.text("Options:")
        mdoc.list(syntax.options.map { Mdoc.Item(label: Mdoc.notation(of: $0, isListed: true), text: $0.summary) })
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

    /// A summary as what follows a name and a dash.
    private static func lowercasedFirst(_ text: String) -> String {
        let text = text.hasSuffix(".") ? String(text.dropLast()) : text
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
