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

    /// The text in this emphasis, by the signs of ECMA-48 that every terminal with colours knows.
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
