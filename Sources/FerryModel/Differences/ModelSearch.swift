/// Finds the path over models that keeps most properties of its first one.
package struct ModelSearch {
    package var distances: ModelDistances
    /// Pairs of models between which no mapping can be inferred.
    package var impossible: Set<[Int]> = []
    private let first: Int
    private let last: Int

    package init(_ distances: ModelDistances, from first: Int, to last: Int) {
        (self.distances, self.first, self.last) = (distances, first, last)
    }

    /// A path to a model.
    private struct Way {
        var kept: [ModelDistances.Kept]
        /// How often it leads away from the target by inference.
        var turns = 0
        /// The properties in which the models of its inferred mappings differ, if there are mapping models.
        var inferred = 0
        var steps = 0
        var previous: Int?

        var rank: (Int, Int, Int, Int) { (-kept.origins, turns, inferred, steps) }
    }

    /// The path that keeps most properties of the first model, then uses mapping models where they lead on, then has the
    /// fewest steps.
    ///
    /// Of equal ones it is the first in the order of models. Each model is reached by one path, so that the result is near
    /// the best one.
    package func shortest() -> [Int]? {
        let count = distances.count
        var ways: [Way?] = Array(repeating: nil, count: count)
        // What no path can bring to the end must not weigh on the choice.
        let lasting = distances.lasting(to: last)
        let missing = distances.hasMappings ? (0..<count).map { distances.missing(from: $0, to: last) } : []
        ways[first] = Way(
            kept: distances.properties(of: first).filter { lasting[first][Int($0)] }
                .map { ModelDistances.Kept(origin: $0, property: $0) })
        var open = Set([first])
        var done: Set<Int> = []
        while let next = open.sorted().min(by: { one, other in
            guard let way = ways[one], let another = ways[other] else { return false }
            return way.rank < another.rank
        }), let way = ways[next] {
            open.remove(next)
            done.insert(next)
            if next == last { break }
            for other in 0..<count where !done.contains(other) && !impossible.contains([next, other]) {
                var longer = way
                longer.kept = distances.continued(way.kept, of: next, in: other, lasting[other])
                if distances.hasMappings, !distances.hasMapping(from: next, to: other) {
                    longer.inferred += distances.distance(from: next, to: other)
                    // Names decide if the models lack as much of the target.
                    if (missing[other], next) > (missing[next], other) { longer.turns += 1 }
                }
                (longer.steps, longer.previous) = (way.steps + 1, next)
                if let known = ways[other], known.rank <= longer.rank { continue }
                ways[other] = longer
                open.insert(other)
            }
        }
        guard ways[last] != nil else { return nil }
        var path = [last]
        while let previous = path.first.flatMap({ ways[$0]?.previous }) { path.insert(previous, at: 0) }
        return path
    }
}
