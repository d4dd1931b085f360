internal import FerrySQLite
internal import FerryStore

/// Each link of the source whose two ends live on is in the destination, or the migration has said that it is lost.
///
/// ``RelationshipsCheck`` compares what the rules yield. This check knows no rule but where a relationship goes on: a
/// link that the rules pass over, or that has no room in its new form, is not there. Links that an expression or a
/// policy computes are those of a rule alone, and are not counted.
struct LinksCheck: Check {
    static let name = "links"
    static let scope = CheckScope.migration

    /// Counts the links of both stores; only where the numbers differ, looks for each link.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        try Self.counted(in: context).map { links in
            CheckPart(name: Self.name(of: links), subject: nil) { context, outcome in
                try context.announce(links.key.property)
                outcome.isShown = try Self.isShown(links, in: context)
                guard !outcome.isShown, let missing = try MissingLinks(links, withLookups: false, in: context) else {
                    return
                }
                try Self.report(missing.found(), of: links, in: context)
                outcome.isShown = true
            }
        }
    }

    /// Looks for the links of objects with new keys.
    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        for links in try Self.counted(in: context)
        where context.progress.state.outcomes[Self.name(of: links)]?.isShown != true {
            try context.announce(links.key.property)
            guard let missing = try MissingLinks(links, withLookups: true, in: context) else { continue }
            try Self.report(missing.found(), of: links, in: context)
        }
    }

    private static func name(of links: SourceLinks) -> String { "links of \(links.key.title)" }

    /// The relationships to count: those of kept tables have the links of the source.
    private static func counted(in context: VerificationContext) throws -> [SourceLinks] {
        try context.sourceLinks.get().filter { links in
            if links.isComputed || links.ends.isEmpty { return false }
            // A loss without a number may be that of all links.
            if links.told == nil { return false }
            return links.targets.isEmpty
                || !links.targets.allSatisfy { KeptTables.hold($0.links.table, in: context) }
        }
    }

    private static func isShown(_ links: SourceLinks, in context: VerificationContext) throws -> Bool {
        let before = try links.form.links.count(in: "source", context.connection)
        guard before > 0, let target = links.targets.first else { return before == 0 }
        guard let expected = try MissingLinks.expected(links, of: before, in: context) else { return false }
        return try target.links.count(in: "destination", context.connection) == expected
    }

    private static func report(
        _ missing: (count: Int64, example: String?), of links: SourceLinks, in context: VerificationContext
    ) {
        guard let told = links.told, missing.count > told else { return }
        context.report(
            LinksCheck.self, entity: links.key.entity, property: links.key.property, count: missing.count - told,
            example: missing.example)
    }
}
