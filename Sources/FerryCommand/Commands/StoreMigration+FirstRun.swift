internal import Ferry
internal import FerryBase

/// The question on a terminal before a store is migrated in place for the first time.
///
/// Without a terminal nothing is asked: scripts run as before.
extension StoreMigration {
    /// - Throws: `.declined` if the answer is not yes.
    func ask(before stores: [String], _ policies: [String: PolicyFactory], on console: Console) throws {
        guard console.canAsk, !console.isJSON, !console.isQuiet, !arguments.has("--yes"), !isRehearsal,
            configuration.output == nil
        else { return }
        let first = stores.filter(isFirstRun)
        guard let lines = try question(first, of: stores, policies) else { return }
        for line in lines { console.note(line) }
        console.draw("Continue? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer.hasPrefix("y") else {
            throw FerryError(
                .declined, "The migration was not confirmed, and nothing was changed.",
                remedy: "Answer y, or add --yes. To see the plan: ferry plan, with the same options.")
        }
    }

    /// Whether no run on the store has ended or is unfinished; for a store that cannot be read the migration reports why.
    private func isFirstRun(_ store: String) -> Bool {
        do {
            return try StoreFiles(store.fileURL).status().state == .none && StoreFiles(store.fileURL).history().isEmpty
        } catch {
            return false
        }
    }

    /// Nil if nothing would be changed: the migration then says so itself.
    private func question(
        _ first: [String], of stores: [String], _ policies: [String: PolicyFactory]
    ) throws -> [String]? {
        guard let store = first.first else { return nil }
        guard first.count == 1, stores.count == 1 else {
            return [
                "\(Int64(first.count).counting("store")) will be migrated in place for the first time"
                    + (first.count < stores.count ? ", of \(stores.count)." : "."), wayBack,
            ]
        }
        let plan: PlanReport
        do {
            plan = try input.migrator(policies).plan(configuration)
        } catch {
            return nil
        }
        guard plan.refusals.isEmpty, !plan.isUpToDate, let from = plan.chain.first, let to = plan.chain.last else {
            return nil
        }
        let time = plan.estimatedTime.flatMap { $0 >= .seconds(1) ? ", about \(Quantity.durationText($0))" : nil } ?? ""
        let losses = plan.losses.map(\.name)
        return [
            "\(store) will be migrated in place from \(from) to \(to): \(plan.rows.counting("row"))\(time)."
        ] + (losses.isEmpty ? [] : ["It loses \(losses.joined(separator: ", "))."]) + [wayBack]
    }

    private var wayBack: String {
        configuration.takesSnapshot
            ? "A snapshot is taken first; ferry rollback restores it."
            : "No snapshot is taken, so there is no way back."
    }
}
