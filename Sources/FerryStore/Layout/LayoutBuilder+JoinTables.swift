internal import FerryBase
internal import FerryModel

extension LayoutBuilder {
    /// A many-to-many relationship from the side that names its table.
    private typealias Pair = (
        relationship: PropertyKey, inverse: PropertyKey, isOrdered: Bool, isInverseOrdered: Bool
    )

    /// Adds a table for every pair of a to-many relationship and its to-many inverse.
    mutating func addJoinTables() {
        // By column name: the relationships whose tables have a column of this name.
        var columns: [String: [PropertyKey]] = [:]
        let pairs = pairs()
        for pair in pairs {
            let table = joinTable(of: pair) { name in
                let users = columns[name, default: []]
                columns[name, default: []].append(pair.relationship)
                // No known rule says which of them gets the plain name.
                for user in users where user.entity == pair.relationship.entity {
                    ambiguousJoins.formUnion([user, pair.relationship])
                }
                return users.isEmpty ? name : "\(name)\(users.count)"
            }
            layout.joinTables.append(table)
            layout.setJoinStorage(of: table)
            joinIndexes[model.root(of: table.relationship.entity), default: []].append(table.index)
        }
        // A known store of the version settles the rest.
        guard model.knownSchema == nil else { return }
        for pair in pairs where ambiguousJoins.contains(pair.relationship) && known(pair)?.firstSuffix == nil {
            refuse(
                pair.relationship.entity, pair.relationship.property,
                "two of the entity's join tables have columns of the same name, and which of them Core Data numbers "
                    + "is not known",
                remedy: """
                    Use \(setting: .like) with a store of this version that Core Data created; or rename the inverse \
                    of one of the two, keeping the old name as renaming identifier.
                    """)
        }
    }

    private func joinTable(of pair: Pair, uniqueColumn: (String) -> String) -> JoinTable {
        let own = numbers[pair.relationship.entity] ?? 0
        let other = numbers[pair.inverse.entity] ?? 0
        let name = "Z_\(own)\(pair.relationship.property.uppercased())"
        if pair.relationship == pair.inverse {
            return JoinTable(
                name: name, relationship: pair.relationship, inverse: pair.inverse, firstColumn: name,
                secondColumn: "REFLEXIVE")
        }
        var first = uniqueColumn("Z_\(own)\(pair.inverse.property.uppercased())")
        var second = uniqueColumn("Z_\(other)\(pair.relationship.property.uppercased())")
        if let known = known(pair), let firstSuffix = known.firstSuffix, let secondSuffix = known.secondSuffix {
            first = "Z_\(own)\(pair.inverse.property.uppercased())\(firstSuffix)"
            second = "Z_\(other)\(pair.relationship.property.uppercased())\(secondSuffix)"
        }
        return JoinTable(
            name: name, relationship: pair.relationship, inverse: pair.inverse, firstColumn: first,
            secondColumn: second, secondOrderColumn: pair.isOrdered ? orderColumn(second) : nil,
            firstOrderColumn: pair.isInverseOrdered ? orderColumn(first) : nil)
    }

    private func orderColumn(_ column: String) -> String { "Z_FOK_\(column.dropFirst(2))" }

    /// Returns all pairs by the position of the naming entity in the set-up order, then by the relationship's name.
    private mutating func pairs() -> [Pair] {
        var pairs: [Pair] = []
        for entity in order.setUp {
            for relationship in relationships(of: entity) where relationship.isToMany {
                let key = PropertyKey(entity, relationship.name)
                guard let inverse = inverse(of: relationship), inverse.relationship.isToMany, names(key, inverse.key)
                else { continue }
                if key == inverse.key, relationship.isOrdered {
                    refuse(
                        entity, relationship.name,
                        "where the order of a relationship that is its own inverse is kept is not known",
                        remedy: "Make it unordered or give it another inverse.")
                }
                pairs.append((key, inverse.key, relationship.isOrdered, inverse.relationship.isOrdered))
            }
        }
        return pairs
    }

    /// Whether a relationship, and not its inverse, names the join table.
    private func names(_ key: PropertyKey, _ inverse: PropertyKey) -> Bool {
        if key.entity == inverse.entity {
            if key != inverse, let known = model.knownJoins.first(where: { $0.isSide(key) || $0.isSide(inverse) }) {
                return known.isSide(key)
            }
            return !codeUnitOrder(key.property, inverse.property)
        }
        return (order.setUpPosition[key.entity] ?? 0) < (order.setUpPosition[inverse.entity] ?? 0)
    }

    private func known(_ pair: Pair) -> KnownJoin? { model.knownJoins.first { $0.isSide(pair.relationship) } }

    /// Sets the storage of every to-many relationship with a to-one inverse to that of the inverse.
    mutating func linkToManySides() {
        for entity in order.numbered {
            for relationship in relationships(of: entity) where relationship.isToMany {
                let key = PropertyKey(entity, relationship.name)
                if layout.relationshipStorage[key] == nil, !layout.setInverseStorage(of: key, relationship) {
                    refuse(
                        entity, relationship.name, "its inverse is not stored or does not lead back to it",
                        remedy: "Correct the inverse in the model.")
                }
            }
        }
    }
}

extension KnownJoin {
    fileprivate func isSide(_ key: PropertyKey) -> Bool { entity == key.entity && relationship == key.property }
}

extension StoreLayout {
    /// Sets the storage of a to-many relationship to that of its to-one inverse; false if that is not stored.
    func setInverseStorage(of key: PropertyKey, _ relationship: Relationship) -> Bool {
        guard let inverse = relationship.inverseName,
            case .foreignKey(let table, let column, let entityColumn, let orderColumn)? =
                storage(of: inverse, in: relationship.destinationEntity)
        else { return false }
        relationshipStorage[key] = .inverseForeignKey(
            table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        return true
    }

    func setJoinStorage(of table: JoinTable) {
        relationshipStorage[table.relationship] = .join(
            table: table.name, own: table.firstColumn, other: table.secondColumn,
            otherOrder: table.secondOrderColumn, ownOrder: table.firstOrderColumn)
        guard !table.isReflexive else { return }
        relationshipStorage[table.inverse] = .join(
            table: table.name, own: table.secondColumn, other: table.firstColumn,
            otherOrder: table.firstOrderColumn, ownOrder: table.secondOrderColumn)
    }
}
