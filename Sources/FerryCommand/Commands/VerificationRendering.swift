internal import Ferry
internal import FerryBase

/// The result of `verify`.
struct VerificationRendering: CommandReport {
    static let title = "Verification"

    let summary: VerificationSummary
    let store: String
    /// The store that ``store`` was migrated from; nil if it was checked on its own.
    let source: String?
    var isSample = false

    private var mode: String { source == nil ? "store" : isSample ? "sample" : "full" }

    var json: JSON {
        [
            "mode": mode, "checked": summary.checked,
            "notRecomputed": summary.notRecomputed, "differences": summary.differencesJSON,
            "store": store, "source": source, "added": summary.added,
        ]
    }

    var report: Report {
        var what = "\(store): \(summary.checked.counting("row"))"
        if let source {
            what =
                "\(store) against \(source): \(summary.checked.counting("row")) compared"
                + (summary.notRecomputed > 0 ? ", \(summary.notRecomputed.counting("value")) not recomputed" : "")
        }
        let names = summary.added ?? []
        let reason =
            source == nil ? "Not Core Data's, and not checked" : "Added to the schema by the app, and not compared"
        let added: [Report.Part] = names.isEmpty ? [] : [.paragraph("\(reason): \(names.listed(8)).")]
        if summary.differences.isEmpty { return Report(Self.title, .good, "\(what), no differences.", added) }
        return Report(
            Self.title, .bad, "\(what), with differences:",
            Report.Part.differences(summary.differences) + added + [.heading("What to do"), .remedy(advice)])
    }

    private var advice: String {
        let store = ShellWord.quoted(store)
        guard source != nil else {
            return """
                These rows do not fit the model of the store's version. To list the damage by kind:
                ferry inspect \(store)
                A migration treats damaged rows as --damaged says. If the store was whole before a migration, restore it:
                ferry rollback \(store)
                """
        }
        return """
            What an app has written since the migration also differs. Compare a store right after its migration.
            If nothing has been written since, do not use this store, report the difference, and restore the snapshot:
            ferry rollback \(store)
            """
    }
}

extension VerificationSummary {
    /// `differences` is their number; `found` lists them.
    var json: JSON {
        [
            "mode": isBeforeCommit ? "beforeCommit" : mode.rawValue, "checked": checked,
            "notRecomputed": notRecomputed, "differences": differences.map(\.count).clampedSum,
            "found": differencesJSON,
        ]
    }

    fileprivate var differencesJSON: JSON {
        .list(differences) {
            [
                "check": $0.check.rawValue, "entity": $0.entity, "property": $0.property, "count": $0.count,
                "example": $0.example,
            ]
        }
    }

    var words: String {
        if isBeforeCommit { return "inside the transaction, before COMMIT: \(checked.counting("row")), no differences" }
        if mode == .none { return "none" }
        return "\(mode.rawValue): " + (checked > 0 ? "\(checked.counting("row")) compared, " : "")
            + (differences.isEmpty ? "no differences" : Int64(differences.count).counting("difference"))
            + (notRecomputed > 0 ? "; \(notRecomputed.counting("value")) not recomputed" : "")
    }
}
