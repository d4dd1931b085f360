internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

struct DiffCommand: Command {
    static let syntax = Syntax(
        "diff", summary: "Compare two model versions and show which changes can be inferred.",
        discussion:
            "Lists the changes by entity, matched by renaming identifier, and whether each can be "
            + "inferred (Core Data's lightweight migration) or why it needs a mapping model. Some changes "
            + "can be inferred only under a condition, which is shown; a migration checks that the store's rows meet it.\n"
            + "A model is an .xcdatamodel, a .mom, or a bundle of versions (.xcdatamodeld, .momd). Of a bundle, the "
            + "current version is used, or the one named after a colon. A store stands for the model "
            + "cached in it.",
        operands: [
            .init("MODEL", "The older version: \(VersionWord.forms)."),
            .init("MODEL", "The newer version, in the same form."),
        ],
        example: "ferry diff App.xcdatamodeld:App App.xcdatamodeld:\"App 2\"")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let words = arguments.operands
        let (source, destination) = (try VersionWord(words[0]).version(), try VersionWord(words[1]).version())
        let (from, to) = Self.names(source, destination)
        let inferred = InferredMapping.infer(source: source, destination: destination)
        let catalog = ModelCatalog(versions: [source, destination])
        // Versions of several bundles have no certain order.
        let isBackward =
            source.bundle != nil && source.bundle == destination.bundle && source.hashes != destination.hashes
            && catalog.isDowngrade(from: source, to: destination)
        let refusals = refusals(from: source, to: destination, in: catalog)
        let json: JSON = [
            "from": from, "to": to, "inferable": refusals.isEmpty, "changes": JSON.list(inferred.changes, json),
        ]
        console.result(json) {
            text(inferred, refusals, from, to, hasEqualHashes: source.hashes == destination.hashes, width: $0)
                + (isBackward ? ["\(from) is newer than \(to). For the changes from old to new, swap the two."] : [])
        }
        return .success
    }

    /// What a plan without mapping models refuses, whatever the rows of a store are.
    private func refusals(
        from source: ModelVersion, to destination: ModelVersion, in catalog: ModelCatalog
    ) -> [FerryError] {
        var planner = Planner(catalog: catalog, mappingModels: [])
        planner.route.allowsDowngrade = true
        return planner.plan(from: source, to: destination, rows: [:], areRowsEstimated: false).refusals
    }

    /// The shortest names that differ.
    private static func names(_ source: ModelVersion, _ destination: ModelVersion) -> (String, String) {
        if source.name != destination.name { return (source.name, destination.name) }
        if source.qualifiedName != destination.qualifiedName {
            return (source.qualifiedName, destination.qualifiedName)
        }
        return (source.path, destination.path)
    }

    private func json(_ change: InferredMapping.Change) -> JSON {
        [
            "entity": change.entity, "property": change.property, "kind": change.kind.rawValue,
            "inferable": change.isInferable, "reason": change.reason,
        ]
    }

    private func text(
        _ inferred: InferredMapping, _ refusals: [FerryError], _ from: String, _ to: String, hasEqualHashes: Bool,
        width: Int
    ) -> [String] {
        var lines = ["\(from) → \(to)"]
        if !inferred.changes.isEmpty {
            let rows = inferred.changes.map {
                [$0.entity, $0.property ?? "", $0.kind.rawValue, $0.isInferable ? "yes" : "no", $0.reason ?? ""]
            }
            let table = TextTable(["Entity", "Property", "Change", "Inferable", "Reason"].map(TableColumn.text), rows)
            lines += [""] + table.lines(width: width) + [""]
        }
        if !inferred.obstacles.isEmpty {
            let count = inferred.obstacles.count
            lines.append(
                "\(count) \(count == 1 ? "change needs" : "changes need") a mapping model; the others can be inferred.")
        } else if hasEqualHashes {
            lines.append("Both have the same version hashes: a store of one is also a store of the other.")
        } else if !refusals.isEmpty {
            lines += refusals.map(\.message)
        } else {
            lines.append("The migration can be inferred: no mapping model is needed.")
        }
        return lines
    }
}
