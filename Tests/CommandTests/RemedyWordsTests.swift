internal import Ferry
internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

@Suite("Remedies on the command line")
struct RemedyWordsTests {
    @Test("Every setting has an option, and every option belongs to a command", arguments: Setting.Name.all)
    func wordsSettings(_ name: Setting.Name) throws {
        // The command line has no option for these.
        if [.infersMappings, .executor, .snapshotLevel].contains(name) { return }
        let option = try #require(RemedyWords.options[name], "\(name)")
        let typed = option.prefix { $0 != " " }
        #expect(Syntax.table.contains { $0.options.contains { $0.name == typed } }, "\(option)")
    }

    @Test("The executor, which has no option, is set in the environment")
    func wordsExecutor() {
        let remedy: Remedy = "Copy every row with \(setting: .executor, .choice("row"))."
        #expect(remedy.commandLine == "Copy every row with FERRY_EXECUTOR=row in the environment.")
    }

    @Test("Every setting is a property of a configuration, or a parameter of a migrator, a verifier or a generator")
    func namesProperties() {
        let properties = names(in: Configuration())
        let others: Set<String> = ["models", "mappings", "source", "rowsOf"]
        for name in Setting.Name.all { #expect(properties.union(others).contains(name.name)) }
        #expect(Set(Setting.Name.all).count == Setting.Name.all.count)
    }

    /// The names of a value's properties, and of those of its groups after a point.
    private func names(in value: Any) -> Set<String> {
        Set(
            Mirror(reflecting: value).children.flatMap { child in
                let name = child.label ?? ""
                return [name] + names(in: child.value).map { "\(name).\($0)" }
            })
    }

    @Test("Every setting that the sources declare is in the list of all settings")
    func listsSettings() throws {
        let source = try String(
            contentsOfFile: Fixtures.packageRoot + "/Sources/FerryBase/Remedy.swift", encoding: .utf8)
        let declared = source.matches(of: /static let ([a-zA-Z]+) = Self\("([a-zA-Z.]+)"\)/)
        #expect(declared.count == Setting.Name.all.count && !declared.isEmpty)
        for one in declared {
            #expect(Setting.Name.all.contains { $0.name == one.2 }, "\(one.1)")
        }
    }

    @Test("Every call has its text, and the commands in the text exist", arguments: Remedy.Action.allCases)
    func wordsActions(_ action: Remedy.Action) throws {
        let words = RemedyWords.words(action)
        guard let command = words.firstMatch(of: /`ferry ([a-z]+(?: [a-z]+)?)/) else {
            return #expect(action == .again && words == "run the same command again")
        }
        #expect(FerryCommand.commandNames.contains(String(command.1)), "\(words)")
    }

    @Test("A setting is written as typed on the command line")
    func wordsValues() {
        let words: [(Setting, String)] = [
            (Setting(.restart, .flag(true)), "--restart"),
            (Setting(.damaged, .choice("drop")), "--damaged drop"), (Setting(.models), "--models"),
            (Setting(.target, .text("My App 2")), "--to 'My App 2'"),
            (Setting(.lossExceptions, .element("Book")), "--lose Book"),
            (Setting(.memoryLimit, .mebibytes(41)), "--memory-limit 41MiB"),
            (Setting(.like, .some("STORE")), "--like STORE"),
            (Setting(.chain, .some("the versions")), "--chain FILE, where FILE lists the versions, one per line"),
            (Setting(Setting.Name("later"), .text("x")), "later = \"x\""),
        ]
        for (setting, text) in words { #expect(RemedyWords.words(setting) == text) }
    }

    @Test("An error is printed with the command line's words, and thrown with the library's")
    func wordsErrors() {
        let error = FerryError(
            .runDiffers, "It differs.",
            remedy: "\(action: .again) with \(on: .restart), or \(action: .again).")
        #expect(
            error.lines.joined(separator: "\n")
                == "ferry: It differs.\n       Run the same command again with --restart, or run the same command again."
        )
        #expect("\(error)" == "It differs. Run it again with `restart = true`, or run it again.")
    }
}
