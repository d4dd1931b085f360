internal import FerryBase
internal import FerryModel
internal import FerryPlan

extension Inputs {
    /// The version that a migration leads to.
    ///
    /// - Parameters:
    ///   - configuration: What is said about it.
    ///   - hashes: The store's.
    /// - Returns: The version that is named, else the one that follows from the store's.
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`; the cause of the latter may be
    ///   ``TargetCandidates``.
    func target(
        _ configuration: Configuration, for hashes: [String: [UInt8]]
    ) throws(FerryError) -> ModelVersion {
        // In merged models the name has been heeded: it is that of one part.
        if let name = configuration.target, !catalog.isMerged { return try catalog.version(named: name) }
        if case .versions(let names) = configuration.chain, let last = names.last {
            return try catalog.version(named: last)
        }
        var links: [MappingEdge] = []
        do throws(FerryError) {
            links = try MappingEdge.all(of: mappingModels, in: catalog)
        } catch {
            // A mapping model of a version that is not there leads nowhere; a plan refuses it.
        }
        switch catalog.target(for: hashes, along: links.map { ($0.source, $0.destination) }) {
        case .version(let version): return version
        case .severalBundles(let versions):
            throw open("Several model bundles may be meant, and they lead to different versions", versions)
        case .noCurrent(let versions): throw open("The models do not say which version is the current one", versions)
        }
    }

    private func open(_ message: String, _ candidates: [ModelVersion]) -> FerryError {
        let names = candidates.map { catalog.displayName(of: $0) }
        return FerryError(
            .ambiguousVersion, "\(message): \(names.map { "'\($0)'" }.joined(separator: ", ")).",
            remedy:
                "Name the one that is meant: \(setting: .target, each: names.map { .text($0) }, separator: " or ").",
            cause: TargetCandidates(versions: names))
    }
}

/// The cause of an `.ambiguousVersion` where nothing says which version a migration leads to.
public struct TargetCandidates: Error, Sendable {
    /// Names that a configuration's target can take.
    public var versions: [String]
}
