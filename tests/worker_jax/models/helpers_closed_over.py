def apply(function, x):
    return function(x)
