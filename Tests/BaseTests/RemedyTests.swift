import FerryBase
import Foundation
import Testing

@Suite("Remedies")
struct RemedyTests {
    @Test("A literal keeps settings and calls as values between its texts")
    func keepsParts() {
        let remedy: Remedy = "Close \(3) apps and \(action: .again), or set \(setting: .damaged, .choice("drop"))."
        #expect(
            remedy.parts == [
                .text("Close 3 apps and "), .action(.again), .text(", or set "),
                .setting(Setting(.damaged, .choice("drop"))), .text("."),
            ])
        #expect(remedy.settings == [Setting(.damaged, .choice("drop"))] && remedy.actions == [.again])
        #expect(remedy.description == "Close 3 apps and run it again, or set `damaged = .drop`.")
    }

    @Test("A call has a capital letter at the beginning of a sentence, and nowhere else")
    func beginsSentences() {
        let remedy: Remedy = "\(action: .again). \(action: .again); then \(action: .again)."
        #expect(remedy.description == "Run it again. Run it again; then run it again.")
    }

    @Test("A setting has the name of its property in Swift")
    func namesSettings() {
        let remedy: Remedy = """
            \(setting: .target, each: [.text("A"), .text("B")], separator: " or ") \(setting: .memoryLimit, .mebibytes(40)) \
            \(setting: .like, .some("STORE")) \(setting: .lossExceptions, .element("Book")) \(setting: .snapshotLevel, .number(3)) \(setting: .infersMappings, .flag(false))
            """
        #expect(
            remedy.description
                == "`target = \"A\"` or `target = \"B\"` `limits.memory = 40 << 20` `like` `losses.exceptions = [\"Book\"]` `snapshots.level = 3` "
                + "`infersMappings = false`")
    }

    @Test("A remedy in another one keeps its values, and an empty one adds nothing")
    func nests() {
        var remedy: Remedy = ""
        #expect(remedy.isEmpty && remedy.description == "")
        let inner: Remedy = "use \(setting: .models)"
        remedy.append("Please \(inner)\(Remedy()).")
        #expect(remedy.parts == [.text("Please use "), .setting(Setting(.models)), .text(".")])
    }

    @Test("A remedy can be encoded and decoded, also with calls of a later version")
    func isWrittenDown() throws {
        let remedy: Remedy = """
            Close \(3) apps and \(action: .again), or set \(setting: .damaged, .choice("drop")) and \(setting: .models), \
            \(setting: .target, .text("A")) or \(on: .restart).
            """
        let read = try JSONDecoder().decode(Remedy.self, from: JSONEncoder().encode(remedy))
        #expect(read == remedy && read.actions == [.again] && read.settings.count == 4)
        let later = #"[{"text": "Call "}, {"action": "heal", "words": "heal it"}]"#
        #expect(try JSONDecoder().decode(Remedy.self, from: Data(later.utf8)).description == "Call heal it")
    }

    @Test("A text that was built before is a remedy, too")
    func takesText() {
        let names = ["a", "b"].joined(separator: ", ")
        #expect(FerryError(.usage, "x", remedy: "There are: " + names).remedy == "There are: a, b")
    }
}
