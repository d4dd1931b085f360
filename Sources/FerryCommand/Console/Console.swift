internal import FerryBase

/// Where a command writes: text for people or one JSON object on standard output, everything else on standard error.
package struct Console: Sendable {
    /// Whether `--json` was asked for: then text for people is left out.
    let isJSON: Bool
    /// Whether text for people and progress are left out.
    private(set) var isQuiet = false
    /// Whether standard error is a terminal, where a line may be drawn again.
    let isTerminal: Bool
    private var output: Stream
    private var diagnostics: Stream
    /// Why something of the output was lost; nil where nothing was.
    private(set) var outputProblem: @Sendable () -> String? = { nil }

    /// The console of this process.
    init(isJSON: Bool) {
        let problem = Locked<String?>(nil)
        let (output, diagnostics) = (StandardStream.output, StandardStream.error)
        self.init(
            isJSON: isJSON, isTerminal: diagnostics.isTerminal,
            output: Stream(width: { output.terminalWidth }, hasColors: output.showsColors) { text in
                if let lost = output.write(text) { problem.withLock { $0 = $0 ?? lost } }
            },
            diagnostics: Stream(width: { diagnostics.terminalWidth }, hasColors: diagnostics.showsColors) {
                diagnostics.write($0)
            })
        outputProblem = { problem.withLock { $0 } }
    }

    package init(isJSON: Bool, isTerminal: Bool, output: Stream, diagnostics: Stream) {
        self.isJSON = isJSON
        self.isTerminal = isTerminal
        self.output = output
        self.diagnostics = diagnostics
    }

    /// Where lines go.
    package struct Stream: Sendable {
        /// How long a line may be, asked each time, since a window changes its size; nil where it goes to no terminal.
        fileprivate let width: @Sendable () -> Int?
        /// Whether lines may have colours.
        fileprivate var hasColors: Bool
        fileprivate let write: @Sendable (String) -> Void

        package init(
            width: @escaping @Sendable () -> Int? = { nil }, hasColors: Bool = false,
            write: @escaping @Sendable (String) -> Void
        ) {
            (self.width, self.hasColors, self.write) = (width, hasColors, write)
        }

        fileprivate func tell(_ line: String) {
            let (emphasis, unmarked) = Emphasis.split(line)
            let line = String(unmarked)
            // Within a terminal's width each line is written whole; elsewhere a line stays one, for programs that read it.
            let lines = width().map { width in
                line.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
                    emphasis == .command
                        ? TextWrap.command(String($0), width: width) : TextWrap.lines(String($0), width: width)
                }
            }
            write((lines ?? [line]).map { (hasColors ? emphasis?.painted($0) ?? $0 : $0) + "\n" }.joined())
        }
    }

    /// How long a line that is drawn again may be.
    var currentWidth: Int? { diagnostics.width() }

    /// How long a line of text for people may be.
    var width: Int { output.width() ?? .max }

    /// The same console for a command that was asked to be quiet.
    var quiet: Console {
        var console = self
        console.isQuiet = true
        return console
    }

    /// The same console for a command that was told when to use colours.
    func colored(_ choice: ColorChoice) -> Console {
        var console = self
        if choice != .auto {
            (console.output.hasColors, console.diagnostics.hasColors) = (choice == .always, choice == .always)
        }
        return console
    }

    /// A line of text for people; nothing when JSON, or no text, was asked for.
    func say(_ line: String = "") {
        if !isJSON, !isQuiet { output.tell(line) }
    }

    /// The result: an object for machines, or a text that another program reads and that is not broken into lines.
    func result(_ report: JSON, verbatim text: String) {
        if isJSON { output.write(report.asResult) } else if !isQuiet { output.write(text + "\n") }
    }

    /// The result: an object for machines, or its text for people, made for lines of a width.
    func result(_ report: JSON, text: (_ width: Int) -> [String]) {
        if isJSON { output.write(report.asResult) } else { for line in text(width) { say(line) } }
    }

    func result(_ report: JSON, text: @autoclosure () -> [String] = []) { result(report) { _ in text() } }

    /// An object that another run of this program printed, handed on as it is.
    func handOn(_ lines: [String]) {
        if isJSON { output.write(lines.map { $0 + "\n" }.joined()) }
    }

    /// A line on standard error, whatever the form of the result.
    func note(_ line: String) { diagnostics.tell(line) }

    func warn(_ text: String) { note(Emphasis.caution.mark("ferry: warning: " + text)) }

    /// One JSON object on a line of standard error.
    func note(_ object: JSON) { diagnostics.write(object.line + "\n") }

    /// Raw text on standard error, for lines that are drawn again.
    func draw(_ text: String) { diagnostics.write(text) }

    /// A part of a line that is drawn again, in an emphasis where standard error shows colours.
    func painted(_ text: String, _ emphasis: Emphasis) -> String {
        diagnostics.hasColors ? emphasis.painted(text) : text
    }

    /// Tells why a command could not do its work.
    func fail(_ error: FerryError) { if isJSON { result(["error": error.json]) } else { note(error) } }

    /// An error on standard error; what failed stands out, what to do next does not.
    func note(_ error: FerryError) {
        let lines = error.lines
        note(Emphasis.bad.mark(lines[0]))
        for line in lines.dropFirst() { note(line) }
    }
}

extension JSON {
    /// As every object of a command is written, with the number of this form in front.
    var asResult: String { (["ferry": 1] + self).pretty + "\n" }
}

extension FerryError {
    var json: JSON {
        ["code": code.name, "message": message, "remedy": wordedRemedy]
    }

    /// `ferry: what failed`, with what to do next on lines of their own.
    var lines: [String] {
        ("ferry: " + message).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            + remedyLines(indent: 7)
    }

    /// What to do next, on lines of their own; commands among them can be pasted.
    func remedyLines(indent: Int) -> [String] {
        guard !remedy.isEmpty else { return [] }
        let margin = String(repeating: " ", count: indent)
        return wordedRemedy.split(separator: "\n").map { line in
            line.hasPrefix("ferry ") ? Emphasis.command.mark("\(margin)  \(line)") : margin + line
        }
    }

    /// The remedy in the words of a command line, with the command that begins it; a command has a line of its own.
    var wordedRemedy: String {
        guard code == .missingPolicy, !remedy.isEmpty, let file = place.mappingModel else {
            return remedy.commandLine
        }
        let models = place.models.isEmpty ? ["PATH"] : place.models.map(ShellWord.quoted)
        return remedy.commandLine + " To begin one:\nferry mapping init --extends \(ShellWord.quoted(file)) --models "
            + models.joined(separator: " ") + " --output stand-in.json\n"
            + "With --swift --output FOLDER in the place of --output stand-in.json it is a Swift package."
    }

    /// Any error as the one that users meet.
    static func from(_ error: any Error) -> FerryError {
        if let error = error as? FerryError { return error }
        return FerryError(
            .internalError, "Ferry met an error that it does not know: \(error).",
            remedy: "The store is as before. Please report this with the command that you ran.", cause: error)
    }
}

/// How a line stands out on a terminal with colours, and what kind it is; elsewhere it is the same line without them.
///
/// A line carries its emphasis as a mark in front, which the console takes away before it writes: so lines stay texts, and
/// are broken at the width of the terminal before any sign for colours is in them.
enum Emphasis: Character, CaseIterable {
    // Of Unicode's private use: no name or path begins with one of them.
    case heading = "\u{F8F0}"
    case good = "\u{F8F1}"
    case caution = "\u{F8F2}"
    case bad = "\u{F8F3}"
    /// A command to paste, which is broken as a shell reads it.
    case command = "\u{F8F4}"

    /// The line with the mark.
    func mark(_ line: String) -> String { String(rawValue) + line }

    /// A line as its emphasis and itself.
    static func split(_ line: String) -> (emphasis: Emphasis?, line: Substring) {
        guard let emphasis = line.first.flatMap(Emphasis.init) else { return (nil, line[...]) }
        return (emphasis, line.dropFirst())
    }

    /// The text in this emphasis, by the signs of ECMA-48 that every terminal with colours takes.
    func painted(_ text: some StringProtocol) -> String {
        code.map { "\u{1b}[\($0)m\(text)\u{1b}[0m" } ?? String(text)
    }

    /// Basic colours alone: a terminal's own theme decides how they look, so that they can be read on any ground.
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

/// The forms of `--color`.
enum ColorChoice: String, CaseIterable, Sendable {
    case auto, always, never

    /// What the words of a command line ask for, before they are read as a command's.
    init(in words: [String]) {
        let options = words.prefix { $0 != "--" }
        let name = Self.option.name
        let attached = options.last { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)
        let next = options.lastIndex(of: name).map { options.index(after: $0) }
        let separate = next.flatMap { $0 < options.endIndex ? options[$0][...] : nil }
        self = (attached ?? separate).flatMap { ColorChoice(rawValue: String($0)) } ?? .auto
    }

    static let option = Syntax.Option.choice(
        "--color", "WHEN", of: allCases, "auto (default: on a terminal, unless NO_COLOR is set), always, never.")
}
