/// The store that is verified, by what made it.
package enum VerifiedStore: Sendable, Equatable {
    /// A new store of a run, with the root entities of tables that the run has left where they are: such a store began as
    /// a copy of the source's pages, and the source has no damage.
    case copied(keeping: Set<String> = [])
    /// The source's own file, which may keep damage and unknown objects.
    case altered
    /// A store at its final place, which a command of its own verifies after the run.
    case found(FoundMigration)
    /// A store without a source.
    case alone(isNew: Bool)

    /// What is known of the run that made a store found.
    package struct FoundMigration: Sendable, Equatable {
        package var isInPlace: Bool
        /// The root entities of tables that a copy has left where they are.
        package var keptRoots: Set<String>
        /// Whether table and column names are those of the run's new store.
        package var hasNamesOfRun: Bool
        /// Whether the store has the indexes of its template store, which can differ from those of the model.
        package var hasIndexesOfTemplate: Bool

        package init(
            isInPlace: Bool, keptRoots: Set<String> = [], hasNamesOfRun: Bool, hasIndexesOfTemplate: Bool
        ) {
            (self.isInPlace, self.keptRoots) = (isInPlace, keptRoots)
            self.hasNamesOfRun = hasNamesOfRun
            self.hasIndexesOfTemplate = hasIndexesOfTemplate
        }
    }
}

extension Verification {
    /// Whether the migration altered the source's own file.
    var isInPlace: Bool {
        switch subject {
        case .altered: true
        case .found(let run): run.isInPlace
        case .copied, .alone: false
        }
    }

    /// The root entities of tables that a copy has left where they are.
    var keptRoots: Set<String> {
        switch subject {
        case .copied(let roots): roots
        case .found(let run): run.keptRoots
        case .altered, .alone: []
        }
    }

    /// Whether the rows of a root entity's table stay where they are.
    func keepsTable(of root: String) -> Bool { isInPlace || keptRoots.contains(root) }

    /// Whether the destination began as the source's pages, with its schema.
    var beganAsSource: Bool { isInPlace || !keptRoots.isEmpty }

    /// Whether table and column names may differ from those of a new store: then the names found are taken.
    var mayHaveOtherNames: Bool {
        switch subject {
        case .found(let run): !run.hasNamesOfRun
        case .alone(let isNew): !isNew
        case .copied, .altered: false
        }
    }

    /// Whether other programs may have changed the destination since the run.
    var isFound: Bool { if case .found = subject { true } else { false } }

    var hasIndexesOfTemplate: Bool { if case .found(let run) = subject { run.hasIndexesOfTemplate } else { false } }

    var isAlone: Bool { if case .alone = subject { true } else { false } }
}
