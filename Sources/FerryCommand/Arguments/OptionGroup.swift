internal import FerryBase

/// The groups of a long list of options, in the order of the help.
enum OptionGroup: String, CaseIterable, Sendable {
    case input = "Input"
    case route = "Route"
    case losses = "What may be lost"
    case safety = "Safety"
    case speed = "Speed and memory"
    case output = "Output"

    /// The group of an option; the same name means the same in each command.
    init(of option: String) {
        self = Self.byName[option] ?? .output
    }

    private static let byName: [String: OptionGroup] = {
        let names: [(OptionGroup, [String])] = [
            (.input, ["--models", "--mappings", "--no-mappings", "--config", "--source"]),
            (.route, ["--to", "--chain", "--like", "--join-table", "--allow-downgrade"]),
            (.losses, ["--lose", "--accept-loss", "--damaged", "--break-sync"]),
            (
                .safety,
                [
                    "--rehearse", "--check", "--snapshot", "--snapshot-dir", "--verify", "--integrity",
                    "--hold-swap", "--restart", "--wait", "--yes",
                    "--recover", "--missing", "--drop-unknown", "--adopt",
                ]
            ),
            (.speed, ["--memory-limit", "--budget", "--chunk-size", "--chunk-time", "--sizes", "--sample", "--runs"]),
        ]
        return Dictionary(uniqueKeysWithValues: names.flatMap { group, names in names.map { ($0, group) } })
    }()
}

extension Syntax {
    /// The options of the short help, in their order there.
    package var commonOptions: [Option] { common.compactMap { name in options.first { $0.name == name } } }

    /// All options by group; nil where one list is short enough.
    var groupedOptions: [(group: OptionGroup, options: [Option])]? {
        guard !common.isEmpty else { return nil }
        return OptionGroup.allCases.compactMap { group in
            let members = options.filter { OptionGroup(of: $0.name) == group }
            return members.isEmpty ? nil : (group, members)
        }
    }
}
