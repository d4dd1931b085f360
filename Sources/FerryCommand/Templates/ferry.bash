# Completion of ferry for bash, created by: ferry completions bash
_ferry() {
    local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]} line
    COMPREPLY=()
    # bash splits --option=value at the equals sign.
    if [[ $word == = ]]; then word=''; fi
    for line in $(ferry __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
        case $line in
        :file)
            # So that a name with spaces is quoted; bash 3.2 knows no compopt.
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(compgen -f -- "$word"))
            ;;
        :folder)
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(compgen -d -- "$word"))
            ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done
}
complete -F _ferry ferry
