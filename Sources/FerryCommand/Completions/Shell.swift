/// A shell that completes the words of a command line.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// The script that the shell reads, without an end of line behind it.
    func script(for table: [Syntax]) -> String {
        let lines =
            switch self {
            case .bash: BashCompletions.lines(for: table)
            case .zsh: ZshCompletions.lines(for: table)
            case .fish: FishCompletions.lines(for: table)
            }
        return lines.joined(separator: "\n")
    }

    /// A word in single quotes, as each of the three shells reads it.
    func quoted(_ text: String) -> String {
        switch self {
        case .bash, .zsh: "'" + text.replacing("'", with: "'\\''") + "'"
        case .fish: "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
    }
}
