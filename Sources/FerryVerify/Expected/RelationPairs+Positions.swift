internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

private enum RelationSide { case a, b }

extension RelationPairs {
    /// Checks the positions of an ordered relationship.
    ///
    /// They increase strictly in the expected order. They are the source's own, or 2048 and 1024 more for each next
    /// object if a mapping has a rule of its own or the source lacked some.
    func checkPositions() throws {
        if relation.form.other != nil || relation.isReflexive { return }
        if let order = relation.links.bOrder { try check(of: .a, relation.links, order: order) }
        if let order = relation.links.aOrder { try check(of: .b, relation.links.reversed, order: order) }
    }

    /// Checks the positions among the links of each object of one side; `links` are seen from that side.
    private func check(of side: RelationSide, _ links: StoredLinks, order: String) throws {
        let (context, relation) = (self.context, self.relation)
        let (table, owner, member) = (links.table, links.a, links.b)
        let carried = carriedOrder(of: side)
        // Otherwise the order is that of the side's own rules, or that in which the objects were made.
        let place = carried ?? inOrder(of: side)
        let statement = try context.connection.prepare(
            """
            SELECT p.owner, p.member, p.place, j.\(order), j.\(member) IS NOT NULL FROM (\(place)) AS p
            LEFT JOIN destination.\(table) AS j ON j.\(member) = p.member AND j.\(owner) = p.owner
            ORDER BY p.owner, p.place, p.member
            """)
        let isCarriedInPlace = context.verification.isInPlace && carried != nil
        let isExact = relation.rules.allSatisfy { !$0.relationship.isAutomatic }
        var previous: (owner: Int64, place: Int64, order: Int64, index: Int64)?
        // With the members that another owner has, which leave a gap.
        var candidate: (owner: Int64, index: Int64)?
        while try statement.step() {
            let (key, place) = (statement.integer(0), statement.integer(2))
            candidate = (key, candidate?.owner == key ? (candidate?.index ?? 0) + 1 : 0)
            if statement.integer(4) == 0 { continue }
            let actual = statement.integer(3)
            var index: Int64 = 0
            var isRight = !statement.isNull(3)
            if let before = previous, before.owner == key {
                index = before.index + 1
                // Objects at the same position of the source may be in any order.
                isRight = isRight && (before.place == place || before.order < actual)
            }
            let isNew = actual == 2048 + 1024 * index
            if isExact { isRight = isRight && (isNew || actual == 2048 + 1024 * (candidate?.index ?? 0)) }
            // Relationships to which a policy has added objects are not compared.
            if carried != nil { isRight = isRight && (isNew || !statement.isNull(2) && place == actual) }
            // In place a position stays unchanged, even NULL.
            if isCarriedInPlace, statement.isNull(2) == statement.isNull(3), place == actual { isRight = true }
            if !isRight {
                context.report(
                    RelationshipsCheck.self, entity: relation.key.entity,
                    example: "\(table) \(member) \(statement.integer(1)) \(order)")
            }
            previous = (key, place, actual, index)
            try context.advance(table, done: 0, total: nil)
        }
    }

    /// SQL of the source's positions, if the relationship and the keys of both sides are carried over.
    private func carriedOrder(of side: RelationSide) -> String? {
        guard let rule = relation.rules.first, relation.rules.allSatisfy({ $0.isCarried(in: context) }),
            let storage = context.source.storage(
                of: rule.relationship.sourceRelationship ?? rule.relationship.name, in: rule.mapping.source)
        else { return nil }
        // The objects of `side` own the ordered members.
        let links = rule.isInverse == (side == .b) ? StoredLinks(storage) : StoredLinks(storage).reversed
        return links.bOrder.map {
            "SELECT \(links.a) AS owner, \(links.b) AS member, \($0) AS place FROM source.\(links.table)"
        }
    }

    /// SQL of `owner`, `member` and `place`: the pairs seen from one side, with a number that orders the members.
    ///
    /// Where rules of the objects with the foreign key take part, these objects' own keys give the order. Else each pair
    /// counts once, in the order of insertion; pairs of the side's own rules come first, and in a join table those of the
    /// side whose relationship is first by name.
    private func inOrder(of side: RelationSide) -> String {
        let links = relation.links
        if side == .b, areInKeyOrder {
            return "SELECT \(links.b) AS owner, Z_PK AS member, Z_PK AS place FROM destination.\(links.table) "
                + "WHERE \(links.b) IS NOT NULL"
        }
        let (group, other, own) = side == .a ? ("a", "b", 0) : ("b", "a", 1)
        let first = isKeyed ? own : relation.form.inverse.map { $0 < relation.key } ?? false ? 1 : 0
        return """
            SELECT \(group) AS owner, \(other) AS member,
                min((side <> \(first)) * 1152921504606846976 + rowid) AS place
            FROM \(table) GROUP BY \(group), \(other)
            """
    }

    /// Whether positions follow from the order in which the pairs are added.
    var ordersByPairs: Bool {
        if relation.form.other != nil || relation.isReflexive { return false }
        let sides: [(RelationSide, String?)] = [(.a, relation.links.bOrder), (.b, relation.links.aOrder)]
        return sides.contains { side, order in
            order != nil && carriedOrder(of: side) == nil && !(side == .b && areInKeyOrder)
        }
    }
}
