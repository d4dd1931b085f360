internal import FerryBase
internal import Foundation

/// The output of a command: text or one JSON object on standard output, everything else on standard error.
struct Console: Sendable {
    /// Whether `--json` is given: text is left out.
    private(set) var isJSON: Bool
    private(set) var isQuiet = false
    /// Whether standard error is a terminal, where a line may be redrawn.
    let isTerminal: Bool
    /// Whether a person can be asked: standard input and standard error are terminals.
    private(set) var canAsk = false
    private(set) var output: Stream
    let diagnostics: Stream
    /// The first error of writing standard output, which lost a part of the output; nil if none.
    private(set) var outputProblem: @Sendable () -> String? = { nil }

    struct Stream: Sendable {
        /// The terminal's width, read for each line since a window may change its size; nil without a terminal.
        var width: @Sendable () -> Int? = { nil }
        var hasColors = false
        let write: @Sendable (String) -> Void

        fileprivate func writeLine(_ line: String) {
            let (emphasis, unmarked) = Emphasis.split(line)
            let line = WorkFolder.shortened(String(unmarked))
            // A terminal gets lines broken at its width; without a terminal a line stays whole, for programs.
            let lines = width().map { width in
                line.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
                    emphasis == .command
                        ? TextWrap.command(String($0), width: width) : TextWrap.lines(String($0), width: width)
                }
            }
            write((lines ?? [line]).map { (hasColors ? emphasis?.painted($0) ?? $0 : $0) + "\n" }.joined())
        }
    }

    var currentWidth: Int? { diagnostics.width() }

    var width: Int { output.width() ?? .max }

    /// The console without text; a command that runs within another one prints no object, either.
    func quiet(isJSON: Bool) -> Console {
        var console = self
        (console.isQuiet, console.isJSON) = (true, isJSON)
        return console
    }

    /// The console with lines for a terminal of 80 columns where there is none.
    var withWidth: Console {
        var console = self
        let (output, usual) = (output, 80)
        console.output = Stream(width: { output.width() ?? usual }, hasColors: output.hasColors, write: output.write)
        return console
    }

    func say(_ line: String = "") {
        if !isJSON, !isQuiet { output.writeLine(line) }
    }

    /// Writes the result: a JSON object, or a text for another program, which is not broken into lines.
    func result(_ report: JSON, verbatim text: String) {
        let line = text.hasSuffix("\n") ? text : text + "\n"
        if isJSON { output.write(report.asResult) } else if !isQuiet { output.write(line) }
    }

    /// Writes the result: a JSON object, or its text for lines of a width.
    func result(_ report: JSON, text: (_ width: Int) -> [String]) {
        if isJSON { output.write(report.asResult) } else { for line in text(width) { say(line) } }
    }

    func result(_ report: JSON, text: @autoclosure () -> [String] = []) { result(report) { _ in text() } }

    func handOn(_ lines: [String]) {
        if isJSON { output.write(lines.map { $0 + "\n" }.joined()) }
    }

    func note(_ line: String) { diagnostics.writeLine(line) }

    func warn(_ text: String) { note(Emphasis.caution.mark("ferry: warning: " + text)) }

    func note(_ object: JSON) { diagnostics.write(object.line + "\n") }

    /// Writes raw text on standard error, for lines that are redrawn.
    func draw(_ text: String) { diagnostics.write(text) }

    func fail(_ error: FerryError) { if isJSON { result(["error": error.json]) } else { note(error) } }

    /// Writes an error on standard error; the message is emphasized, the remedy is not.
    func note(_ error: FerryError) {
        let lines = error.lines
        note(Emphasis.bad.mark(lines[0]))
        for line in lines.dropFirst() { note(line) }
    }
}

extension Console {
    init(isJSON: Bool) {
        let problem = Locked<String?>(nil)
        let (output, diagnostics) = (StandardStream.output, StandardStream.error)
        self.init(
            isJSON: isJSON, isTerminal: diagnostics.isTerminal,
            canAsk: diagnostics.isTerminal && StandardStream.isInputTerminal,
            output: Stream(width: { output.terminalWidth }, hasColors: output.showsColors) { text in
                if let lost = output.write(text) { problem.withLock { $0 = $0 ?? lost } }
            },
            diagnostics: Stream(width: { diagnostics.terminalWidth }, hasColors: diagnostics.showsColors) {
                diagnostics.write($0)
            }, outputProblem: { problem.withLock { $0 } })
    }
}

extension JSON {
    /// The object of a command's result; its first member is the version of the JSON form.
    var asResult: String { (["ferry": 1] + self).pretty + "\n" }
}

extension FerryError {
    var json: JSON {
        ["code": code.name, "message": message, "remedy": wordedRemedy]
    }

    /// `ferry: message`, with the remedy on lines of its own.
    var lines: [String] {
        ("ferry: " + message).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            + remedyLines(indent: 7)
    }

    /// The remedy on lines of its own; commands in it can be pasted.
    func remedyLines(indent: Int) -> [String] {
        guard !remedy.isEmpty else { return [] }
        let margin = String(repeating: " ", count: indent)
        return wordedRemedy.split(separator: "\n").map { line in
            FerryCommand.isCommand(line) ? Emphasis.command.mark("\(margin)  \(line)") : margin + line
        }
    }

    /// The remedy with options and commands; each command has a line of its own.
    var wordedRemedy: String {
        if code == .notUnique, place.models.count == 2, let entity = place.entity, let attributes = place.property {
            let models = place.models.map(ShellWord.quoted).joined(separator: " ")
            return remedy.commandLine + " To create one that merges them, for --mappings merging.json:\n"
                + "\(FerryCommand.program) mapping init \(models) --unique \(ShellWord.quoted("\(entity)=\(attributes)")) "
                + "--output merging.json\n"
        }
        guard code == .missingPolicy, !remedy.isEmpty, let file = place.mappingModel else {
            return remedy.commandLine
        }
        let models = place.models.isEmpty ? ["PATH"] : place.models.map(ShellWord.quoted)
        // Several mapping models of one plan need several files.
        let base = FileLayer.name(of: file)
        let name = "stand-in-\(base.lastIndex(of: ".").map { String(base[..<$0]) } ?? base).json"
        let call = "\(FerryCommand.program) mapping init --extends \(ShellWord.quoted(file)) --models "
        return remedy.commandLine + " To start one:\n" + call + models.joined(separator: " ")
            + " --output \(ShellWord.quoted(name))\nFor a Swift package, use --swift PATH --output FOLDER instead, where PATH is Ferry's package."
    }

    static func from(_ error: any Error) -> FerryError {
        if let error = error as? FerryError { return error }
        return FerryError(
            .internalError, "An unexpected error occurred: \(error).",
            remedy: "The store is unchanged. Please report this with the command that you ran.", cause: error)
    }
}

/// The emphasis of a line: colours on a terminal that shows them, and the kind of the line.
///
/// A mark in front of a line carries its emphasis; the console removes the mark before it writes. So the console can
/// break lines at the terminal's width before it inserts escape sequences.
enum Emphasis: Character, CaseIterable, Sendable {
    // Unicode's private use area: no name or path begins with one of these characters.
    case heading = "\u{F8F0}"
    case good = "\u{F8F1}"
    case caution = "\u{F8F2}"
    case bad = "\u{F8F3}"
    /// A command to paste, broken into lines as a shell reads them.
    case command = "\u{F8F4}"

    func mark(_ line: String) -> String { String(rawValue) + line }

    /// Splits a line into its first emphasis and its text, without any mark: a terminal shows them as boxes.
    static func split(_ line: String) -> (emphasis: Emphasis?, line: Substring) {
        guard let emphasis = line.lazy.compactMap(Emphasis.init).first else { return (nil, line[...]) }
        return (emphasis, line.filter { Emphasis(rawValue: $0) == nil }[...])
    }

    /// The text with the escape sequences of ECMA-48, which every terminal with colours reads.
    func painted(_ text: some StringProtocol) -> String {
        code.map { "\u{1b}[\($0)m\(text)\u{1b}[0m" } ?? String(text)
    }

    /// Basic colours: the terminal's theme makes them readable on its background.
    private var code: String? {
        switch self {
        case .heading: "1"
        case .good: "32"
        case .caution: "33"
        case .bad: "31"
        case .command: nil
        }
    }
}

enum WorkFolder {
    /// The line with paths from the current folder instead of those in it, and a point for the folder at its end.
    static func shortened(_ line: String) -> String {
        // It is empty if the folder was removed.
        let path = FileManager.default.currentDirectoryPath
        guard !["", "/"].contains(path), line.contains(path) else { return line }
        let parts = line.split(separator: path + "/", omittingEmptySubsequences: false)
        let shown = parts.dropFirst().reduce(into: String(parts[0])) { text, part in
            // A folder of this name in another one stays.
            let begins = text.last.map { " \"'`(:=".contains($0) } ?? true
            text += (begins ? "" : path + "/") + part
        }
        return shown.hasSuffix(" " + path) ? shown.dropLast(path.count) + "." : shown
    }
}
