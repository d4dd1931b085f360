internal import FerryMapping

extension StepPlan {
    /// Leaves out the source objects that lack a value which they must have, as a `where` would.
    package mutating func leaveOutDamagedRows() {
        resolved = resolved.droppingEmptyMandatoryValues()
        for partition in partitions.indices {
            for index in partitions[partition].entityMappings.indices {
                let position = partitions[partition].entityMappings[index].mapping.position
                partitions[partition].entityMappings[index].mapping = resolved.entityMappings[position]
            }
        }
    }
}
