internal import FerryBase
internal import FerryMapping
internal import FerryModel

extension VersionGraph {
    /// Whether source and target have to do with each other: in one bundle, or with a way between them.
    var isRelated: Bool {
        (source.bundle == target.bundle && source.bundle != nil) || search(from: target, to: source) != nil
            || search(from: source, to: target) != nil
    }

    var backward: FerryError {
        let (from, to) = (catalog.displayName(of: source), catalog.displayName(of: target))
        return FerryError(
            .backward, "The store is of version \(from), which comes after \(to).",
            remedy: """
                Name a later version with \(setting: .target), restore a snapshot of the older one with \
                \(action: .rollBack), or give \(on: .allowsDowngrade): what \(to) does not know is \
                lost then.
                """)
    }

    func unreachable(from start: ModelVersion) -> FerryError {
        let (last, next) = gap(from: start)
        let obstacles = inferable.first { $0.source.hashes == last.hashes && $0.destination.hashes == next.hashes }?
            .obstacles
        return missing(last, next, obstacles)
    }

    /// Why one version cannot follow another.
    func missing(
        _ start: ModelVersion, _ end: ModelVersion, _ obstacles: [InferredMapping.Change]?, saidBy origin: String? = nil
    ) -> FerryError {
        let (from, to) = (catalog.displayName(of: start), catalog.displayName(of: end))
        var message =
            origin.map { "\(to) cannot follow \(from), as \($0) says: no " }
            ?? "There is no way from version \(catalog.displayName(of: source)) to \(catalog.displayName(of: target)): no "
        message += "mapping model leads from \(from) to \(to)"
        var remedy: Remedy = "Add a mapping model from \(from) to \(to) with \(setting: .mappings)."
        var place = FerryError.Place()
        if !route.infers {
            message += ", and none may be inferred."
            remedy = """
                Add a mapping model from \(from) to \(to) with \(setting: .mappings), or leave \
                \(setting: .infersMappings, .flag(false)) out.
                """
        } else if let obstacles {
            let most = 8
            let sentences = obstacles.prefix(most).map(\.sentence)
            let more = obstacles.count > most ? [" And \(obstacles.count - most) more."] : []
            message += ", and none can be inferred. "
            message += (sentences + more).joined(separator: " ")
            if obstacles.isEmpty { message += "They have no entity in common." }
            place = .init(entity: obstacles.first?.entity, property: obstacles.first?.property)
        } else {
            message += "."
        }
        return FerryError(.unreachable, message, remedy: remedy, place: place)
    }

    /// Where the way breaks: the last version that a start reaches, and the next one that leads to the target.
    private func gap(from start: ModelVersion) -> (ModelVersion, ModelVersion) {
        let isBack = catalog.isBefore(target, start)
        let order = isBack ? catalog.versions.reversed() : catalog.versions
        func place(_ version: ModelVersion) -> Int { isBack ? -node(version) : node(version) }
        let targetPlace = place(target)
        let reachable = order.filter { search(from: start, to: $0) != nil && place($0) < targetPlace }
        let leading = order.filter { search(from: $0, to: target) != nil && place($0) > place(start) }
        let last = reachable.last ?? start
        // Without inference the neighbours themselves are what lacks a mapping model.
        let next = (route.infers ? leading : Array(order)).first { place($0) > place(last) }
        return (named(last), named(next ?? target))
    }
}
